#include "sim/execution/links/time_bins.hpp"

#include <algorithm>

namespace pipewright::execution {

std::size_t TimeBins::open() {
  constexpr std::size_t few = 16;
  accounts_.emplace_back();
  if (accounts_.size() * bins_ > most_cells_ && bins_ > few) {
    double_width();
    bins_ /= 2;
  }
  return accounts_.size() - 1;
}

void TimeBins::double_width() {
  width_ *= 2;
  for (std::vector<Cell>& cells : accounts_) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (i % 2 == 0)
        cells[i / 2] = cells[i];
      else
        cells[i / 2] += cells[i];
    cells.resize((cells.size() + 1) / 2);
  }
}

TimeBins::Cell& TimeBins::cell(std::size_t account, std::size_t bin) {
  std::vector<Cell>& cells = accounts_[account];
  if (cells.size() <= bin) cells.resize(bin + 1);
  return cells[bin];
}

void TimeBins::add(std::size_t account, double start, double end, const Cell& sum) {
  while (end >= width_ * static_cast<double>(bins_)) double_width();
  const auto first = static_cast<std::size_t>(start / width_);
  const auto last = static_cast<std::size_t>(end / width_);
  if (first >= last) {
    cell(account, last) += sum;
    return;
  }
  for (std::size_t bin = first; bin <= last; ++bin) {
    const double from = std::max(start, width_ * static_cast<double>(bin));
    const double to = std::min(end, width_ * static_cast<double>(bin + 1));
    const double share = std::max(0.0, to - from) / (end - start);
    cell(account, bin) += {sum.bytes * share, sum.flows * share, sum.waited * share};
  }
}

}  // namespace pipewright::execution
