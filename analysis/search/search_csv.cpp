#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/search/choices.hpp"
#include "analysis/search/columns.hpp"
#include "analysis/search/findings.hpp"
#include "analysis/search/search_export.hpp"
#include "analysis/text_table.hpp"

namespace pipewright::analysis {
namespace {

std::string number(const CandidateRow& row, const trace::Column& column) {
  if (bits(row, column) == 0) return "";
  return column.type == trace::ColumnType::u64 ? fmt::to_string(figure<std::uint64_t>(row, column))
                                               : fmt::to_string(figure<double>(row, column));
}

std::string rate(double done, const CandidateRow& row) {
  return row.outcome == Outcome::simulated && done > 0 ? fmt::to_string(done / row.time_s) : "";
}

// What the objective adds to the figures, if it is none of them.
std::string objective_heading(const Objective& objective) {
  if (objective.kind == Objective::Kind::time_to_train) return ",time_to_train_s";
  if (objective.kind == Objective::Kind::price)
    return fmt::format(",{}", csv_field(fmt::format("price ({})", objective.currency)));
  return "";
}

}  // namespace

void write_search_csv(std::ostream& stream, const SearchRun& run) {
  std::string line = "candidate,group,outcome";
  for (const SearchAxis& axis : run.axes) line += fmt::format(",{}", csv_field(axis.name));
  for (const trace::Column& column : figure_columns) line += fmt::format(",{}", column.name);
  const std::string objective = objective_heading(run.objective);
  stream << line << ",samples_per_s,tokens_per_s,mfu" << objective << ",note\n";
  for (const CandidateRow& row : run.rows) {
    line = fmt::format("{},{},{}", row.candidate,
                       csv_field(row.group < run.groups.size() ? run.groups[row.group] : ""),
                       outcome_names.at(static_cast<std::size_t>(row.outcome)));
    const std::vector<std::uint32_t> digits = choices(run.axes, row.candidate);
    for (std::size_t axis = 0; axis < digits.size(); ++axis)
      line += fmt::format(",{}", csv_field(run.axes[axis].values[digits[axis]]));
    for (const trace::Column& column : figure_columns)
      line += fmt::format(",{}", number(row, column));
    const double share = row.outcome == Outcome::simulated ? mfu(row.work, row.time_s) : 0;
    line += fmt::format(",{},{},{}", rate(row.work.samples, row), rate(row.work.tokens, row),
                        share > 0 ? fmt::to_string(share) : "");
    if (!objective.empty())
      line += row.outcome == Outcome::simulated ? fmt::format(",{}", cost_of(run, row)) : ",";
    stream << line << ',' << csv_field(row.note) << '\n';
  }
}

}  // namespace pipewright::analysis
