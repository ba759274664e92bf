#include "sim/cli/search/sweep_notes.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "sim/config/range_note.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/model_notes.hpp"

namespace pipewright::cli {
namespace {

using analysis::SearchRun;

// Rows whose scenarios are read: the best of each group, or the first legal row.
std::vector<std::size_t> rows_to_read(const SearchRun& run, const analysis::Findings& findings) {
  std::vector<std::size_t> rows;
  for (const std::optional<std::size_t>& best : findings.best_of_group)
    if (best) rows.push_back(*best);
  if (!rows.empty()) return rows;
  const auto legal = std::ranges::find_if(run.rows, [](const analysis::CandidateRow& row) {
    return row.outcome != analysis::Outcome::illegal;
  });
  if (legal != run.rows.end()) rows.push_back(static_cast<std::size_t>(legal - run.rows.begin()));
  return rows;
}

std::string gpu_note(const search::Space& space, const std::vector<search::ClusterFacts>& facts,
                     std::uint64_t candidate) {
  const std::size_t cluster = space.cluster(candidate / space.schedules());
  const std::string gpu = cluster < facts.size() ? facts[cluster].gpu : "";
  const std::string note = config::range_note(space.candidate(candidate), gpu);
  return note.empty() ? "" : note + "; 'pipewright run' of a candidate shows how its time changes";
}

}  // namespace

std::vector<std::string> sweep_notes(const config::Value& tree, const search::Space& space,
                                     const std::vector<search::ClusterFacts>& facts,
                                     const SearchRun& run) {
  const analysis::Findings findings = analysis::find(run);
  std::vector<std::string> notes;
  const auto add = [&](std::string note) {
    if (!note.empty() && std::ranges::find(notes, note) == notes.end())
      notes.push_back(std::move(note));
  };
  for (const std::size_t row : rows_to_read(run, findings))
    for (std::string& note : evaluation::notes_of_model(
             config::read_scenario(space.candidate(run.rows[row].candidate))))
      add(std::move(note));
  add(evaluation::thousands_note(tree));
  if (findings.best) add(gpu_note(space, facts, run.rows[*findings.best].candidate));
  return notes;
}

}  // namespace pipewright::cli
