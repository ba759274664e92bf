#include "analysis/search/row_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "analysis/search/choices.hpp"
#include "analysis/search/findings.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

using Number = std::function<double(const CandidateRow&)>;

bool is_whole(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

class RowTable {
 public:
  RowTable(const SearchRun& run, std::span<const std::size_t> rows) : run_(run), rows_(rows) {}

  void add_axes() {
    for (const std::size_t axis : open_axes(run_)) {
      const std::string& first = value_of(run_, run_.rows[rows_.front()], axis);
      const std::string name = printable(run_.axes[axis].name);
      if (std::ranges::all_of(
              rows_, [&](std::size_t i) { return value_of(run_, run_.rows[i], axis) == first; })) {
        common_ += fmt::format("{}{} {}", common_.empty() ? "" : ", ", name, printable(first));
        continue;
      }
      std::vector<std::string> values =
          cells([&](const CandidateRow& row) { return printable(value_of(run_, row, axis)); });
      if (std::ranges::all_of(values, is_whole))
        table_.add_numbers({name}, std::move(values));
      else
        table_.add_names(name, std::move(values));
    }
  }

  void add(std::vector<std::string> head, const Number& value, double factor, int decimals) {
    if (is_empty(value)) return;
    table_.add_numbers(std::move(head), cells([&](const CandidateRow& row) {
                         return fmt::format("{:.{}f}", value(row) / factor, decimals);
                       }));
  }
  void add(const std::string& head, const Number& value,
           const std::function<ColumnScale(double)>& scale_of) {
    if (is_empty(value)) return;
    double most = 0;
    for (const std::size_t i : rows_) most = std::max(most, value(run_.rows[i]));
    const ColumnScale scale = scale_of(most);
    table_.add_numbers({head, scale.unit},
                       cells([&](const CandidateRow& row) { return scale(value(row)); }));
  }
  void add(std::vector<std::string> head,
           const std::function<std::string(const CandidateRow&)>& say) {
    table_.add_numbers(std::move(head), cells(say));
  }

  std::string text() const {
    return table_.text() +
           (common_.empty() || rows_.size() == 1 ? "" : fmt::format("all with {}\n", common_));
  }

 private:
  template <class Say>
  std::vector<std::string> cells(const Say& say) const {
    std::vector<std::string> texts;
    for (const std::size_t i : rows_) texts.push_back(say(run_.rows[i]));
    return texts;
  }
  bool is_empty(const Number& value) const {
    return std::ranges::all_of(rows_, [&](std::size_t i) { return value(run_.rows[i]) == 0; });
  }

  const SearchRun& run_;
  std::span<const std::size_t> rows_;
  TextTable table_;
  std::string common_;
};

}  // namespace

std::string worth(const SearchRun& run, const CandidateRow& row) {
  return printable(shown(run.objective, row.work, cost_of(run, row)));
}

std::string memory_text(const CandidateRow& row) {
  if (row.capacity_bytes == 0) return format_bytes(row.peak_bytes);
  const ColumnScale scale =
      memory_scale(static_cast<double>(std::max(row.peak_bytes, row.capacity_bytes)));
  return fmt::format("{} of {} {}", scale(static_cast<double>(row.peak_bytes)),
                     scale(static_cast<double>(row.capacity_bytes)), scale.unit);
}

std::string row_table(const SearchRun& run, std::span<const std::size_t> rows,
                      std::optional<std::size_t> best) {
  if (rows.empty()) return "";
  RowTable table(run, rows);
  table.add_axes();
  if (run.objective.kind == Objective::Kind::time_to_train ||
      run.objective.kind == Objective::Kind::price)
    table.add({run.objective.kind == Objective::Kind::price ? "price" : "time", "to train"},
              [&](const CandidateRow& row) { return worth(run, row); });
  if (best) {
    const double least = cost_of(run, run.rows[*best]);
    table.add({"behind", "%"}, [&](const CandidateRow& row) {
      const double cost = cost_of(run, row);
      if (!std::isfinite(cost)) return std::string("floor");
      if (cost == least) return std::string("best");
      return fmt::format("{:.1f}", 100 * behind(run.objective, cost, least));
    });
  }
  const bool tokens = run.rows[rows.front()].work.tokens > 0;
  table.add(
      tokens ? "tokens" : "samples",
      [](const CandidateRow& row) { return throughput(row.work, seconds_of(row)); }, rate_scale);
  table.add(
      {"MFU", "%"}, [](const CandidateRow& row) { return mfu(row.work, seconds_of(row)); }, 0.01,
      1);
  table.add("iteration", seconds_of, [](double most) { return time_scale(most, 4); });
  table.add(
      {"bubble", "%"}, [](const CandidateRow& row) { return row.bubble_ratio; }, 0.01, 1);
  table.add(
      "memory", [](const CandidateRow& row) { return static_cast<double>(row.peak_bytes); },
      memory_scale);
  table.add(
      {"of it", "%"},
      [](const CandidateRow& row) {
        return row.capacity_bytes == 0
                   ? 0
                   : static_cast<double>(row.peak_bytes) / static_cast<double>(row.capacity_bytes);
      },
      0.01, 0);
  return table.text();
}

}  // namespace pipewright::analysis
