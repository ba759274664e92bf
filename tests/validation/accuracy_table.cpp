#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

class Errors {
 public:
  void add(double error) {
    if (std::isfinite(error)) each_.push_back(error);
  }
  std::size_t count() const { return each_.size(); }
  double mean() const {
    double sum = 0;
    for (const double error : each_) sum += std::abs(error);
    return sum / static_cast<double>(each_.size());
  }
  double bias() const {
    return std::accumulate(each_.begin(), each_.end(), 0.0) / static_cast<double>(each_.size());
  }
  // The absolute value that so large a part of them does not exceed.
  double quantile(double part) const {
    std::vector<double> sizes;
    for (const double error : each_) sizes.push_back(std::abs(error));
    std::ranges::sort(sizes);
    const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sizes.size())));
    return sizes.empty() ? 0 : sizes[std::max<std::size_t>(rank, 1) - 1];
  }
  double largest() const { return quantile(1); }
  std::string text() const {
    return fmt::format("{} rows, mean {:.2f} %, bias {:+.2f} %, p90 {:.2f} %, largest {:.2f} %",
                       count(), mean(), bias(), quantile(0.9), largest());
  }

 private:
  std::vector<double> each_;
};

struct TableErrors {
  Errors all, fitted, held_out, bare;

  explicit TableErrors(const Table& table) {
    for (const Row& row : table.rows) {
      all.add(row.error());
      (row.is_fitted ? fitted : held_out).add(row.error());
      // Where there is nothing to take away, it is the same.
      bare.add(std::isnan(row.bare) ? row.error() : row.bare_error());
    }
  }
};

std::string verdict(const char* what, double value, double bar) {
  if (std::isinf(bar)) return "";
  return fmt::format("; {} {:.2f} of {} allowed: {}", what, value, bar,
                     value <= bar ? "met" : "MISSED");
}

// Of pairs: how many of the changes are predicted in the right direction, and how many of these
// within a third of their size.
std::string changes_of(const Table& table) {
  int pairs = 0;
  int directions = 0;
  int sizes = 0;
  for (const Row& row : table.rows) {
    if (row.against.empty()) continue;
    ++pairs;
    const double share = (row.predicted - 1) / (row.measured - 1);
    directions += share > 0 ? 1 : 0;
    sizes += std::abs(share - 1) <= 1.0 / 3 ? 1 : 0;
  }
  if (pairs == 0) return "";
  return fmt::format("of {} changes {} in the right direction, {} within a third of their size",
                     pairs, directions, sizes);
}

// Rows of each job that has several: the row that is predicted best and the one that is best.
struct Choice {
  const Row* predicted = nullptr;
  const Row* measured = nullptr;
  int layouts = 0;
};

std::map<std::string, Choice> choices_in(const Table& table) {
  std::map<std::string, Choice> choices;
  for (const Row& row : table.rows) {
    if (row.job.empty() || std::isnan(row.predicted)) continue;
    Choice& choice = choices[row.job];
    ++choice.layouts;
    if (choice.layouts == 1 || row.predicted < choice.predicted->predicted) choice.predicted = &row;
    if (choice.layouts == 1 || row.measured < choice.measured->measured) choice.measured = &row;
  }
  std::erase_if(choices, [](const auto& each) { return each.second.layouts < 2; });
  return choices;
}

// How much longer the layouts take that are predicted fastest than those that are.
std::string choices_of(const Table& table) {
  const auto choices = choices_in(table);
  if (choices.empty()) return "";
  int best = 0;
  Errors losses;
  for (const auto& [job, choice] : choices) {
    best += choice.predicted == choice.measured ? 1 : 0;
    losses.add(100 * (choice.predicted->measured / choice.measured->measured - 1));
  }
  return fmt::format(
      "of {} jobs, the layout predicted fastest is the fastest of {}; its measured time is over "
      "the best by {:.2f} % in the mean, p90 {:.2f} %, at most {:.2f} %",
      choices.size(), best, losses.mean(), losses.quantile(0.9), losses.largest());
}

}  // namespace

double makespan(const Run& run) { return run.summary.makespan_s; }

double allocated_gib(const analysis::DeviceSummary& device) {
  return static_cast<double>(device.peak_allocated_bytes()) / (1U << 30U);
}

double peak_gib(const Run& run) {
  double peak = 0;
  for (const analysis::DeviceSummary& device : run.summary.devices)
    peak = std::max(peak, allocated_gib(device));
  return peak;
}

double occupied_gib(const Run& run) {
  std::uint64_t peak = 0;
  for (const analysis::DeviceSummary& device : run.summary.devices)
    peak = std::max(peak, device.peak_memory_bytes);
  return static_cast<double>(peak) / (1U << 30U);
}

double reserved_gib(const Run& run) {
  return occupied_gib(run) - static_cast<double>(run.outside_allocator) / (1U << 30U);
}

bool print(const Table& table) {
  fmt::print("{}\n", table.title);
  if (!table.skipped.empty()) {
    fmt::print("  skipped: {}\n\n", table.skipped);
    return true;
  }
  fmt::print("  {:<52} {:>10} {:>10} {:>8}\n", "", "measured", "predicted", "error");
  for (const Row& row : table.rows) {
    const std::string name = row.name + ", " + table.unit;
    if (std::isnan(row.predicted))
      fmt::print("  {:<52} {:>10.4g}     cannot be predicted\n", name, row.measured);
    else
      fmt::print("  {:<52} {:>10.4g} {:>10.4g} {:>+7.1f}% {}\n", name, row.measured, row.predicted,
                 row.error(), row.is_fitted ? "*" : "");
  }
  const TableErrors errors(table);
  const Errors& all = errors.all;
  if (all.count() == 0) {
    fmt::print("  no row can be predicted\n\n");
    return false;
  }
  fmt::print("  all: {}\n", all.text());
  if (errors.held_out.count() > 0 && errors.held_out.count() < all.count())
    fmt::print("  not fitted: {}\n", errors.held_out.text());
  if (errors.bare.text() != all.text())
    fmt::print("  without clock and launch: {}\n", errors.bare.text());
  if (const std::string changes = changes_of(table); !changes.empty())
    fmt::print("  {}\n", changes);
  if (const std::string choices = choices_of(table); !choices.empty())
    fmt::print("  {}\n", choices);
  if (!table.left_out.empty()) fmt::print("  left out: {}\n", table.left_out);
  const std::string verdicts = verdict("mean", all.mean(), table.bars.mean) +
                               verdict("bias", std::abs(all.bias()), table.bars.bias) +
                               verdict("largest", all.largest(), table.bars.each);
  fmt::print("  {}\n\n", verdicts.empty() ? "for information: no bar" : verdicts.substr(2));
  return all.count() == table.rows.size() && all.mean() <= table.bars.mean &&
         std::abs(all.bias()) <= table.bars.bias && all.largest() <= table.bars.each;
}

std::string overview(const std::vector<Table>& tables) {
  std::string text =
      "| measured | rows | mean | bias | p90 | largest | fitted | same set, not fitted | set never "
      "seen | without clock, launch |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const Table& table : tables) {
    const TableErrors errors(table);
    const Errors& all = errors.all;
    if (all.count() == 0) continue;
    std::string title = table.title;
    std::ranges::replace(title, '\n', ' ');
    const auto mean_of = [](const Errors& of, bool is_shown) {
      return of.count() > 0 && is_shown ? fmt::format("{:.1f} %", of.mean()) : std::string("-");
    };
    const bool has_fit = errors.fitted.count() > 0;
    text += fmt::format(
        "| {} | {} | {:.1f} % | {:+.1f} % | {:.1f} % | {:.1f} % | {} | {} | {} | {:.1f} % |\n",
        title, all.count(), all.mean(), all.bias(), all.quantile(0.9), all.largest(),
        mean_of(errors.fitted, true), mean_of(errors.held_out, has_fit),
        mean_of(errors.held_out, !has_fit), errors.bare.mean());
  }
  return text;
}

}  // namespace pipewright::accuracy
