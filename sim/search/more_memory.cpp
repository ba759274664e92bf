#include "sim/search/more_memory.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "sim/config/scenario.hpp"
#include "sim/search/why_not.hpp"

namespace pipewright::search {

std::optional<analysis::Perturbation> more_memory(const analysis::SearchRun& run,
                                                  const config::Value& sweep, Workers& workers,
                                                  const SearchOptions& options,
                                                  const SearchCalls& calls) {
  const std::optional<std::size_t> best = analysis::find(run).best;
  std::uint64_t capacity = 0;
  analysis::SearchRun fitting = run;
  std::erase_if(fitting.rows, [](const analysis::CandidateRow& row) {
    return row.outcome == analysis::Outcome::does_not_fit;
  });
  for (const analysis::CandidateRow& row : run.rows)
    capacity = std::max(capacity, row.capacity_bytes);
  if (!best || capacity == 0 || fitting.rows.size() == run.rows.size()) return std::nullopt;
  config::Value tree = sweep;
  config::set_value(tree, "search.memory",
                    config::make_text(fmt::format("{} B", 2 * capacity), {"more memory"}));
  const Space space(read_sweep(tree), options.facts);
  const analysis::SearchRun more = search_part(fitting, space, workers, options, calls);

  const analysis::CandidateRow& winner = run.rows[*best];
  const analysis::CandidateRow* smallest = nullptr;
  for (const analysis::CandidateRow& row : more.rows) {
    if (row.outcome != analysis::Outcome::simulated || row.peak_bytes <= capacity) continue;
    if (cost_of(more, row) < cost_of(run, winner) &&
        (smallest == nullptr || row.peak_bytes < smallest->peak_bytes ||
         (row.peak_bytes == smallest->peak_bytes && cost_of(more, row) < cost_of(more, *smallest))))
      smallest = &row;
  }
  if (smallest == nullptr) return std::nullopt;
  return analysis::Perturbation{
      .parameter = "memory of a GPU",
      .value = static_cast<double>(smallest->peak_bytes),
      .lead = relative_loss(run.objective, cost_of(run, winner), cost_of(more, *smallest)),
      .is_memory = true,
      .winner_name = candidate_name(more, *smallest)};
}

}  // namespace pipewright::search
