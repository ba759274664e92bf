#include "sim/cli/search/candidate_evaluator.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "analysis/search/row_json.hpp"
#include "sim/config/error.hpp"
#include "sim/config/scenario.hpp"
#include "sim/search/child.hpp"

namespace pipewright::cli {

using analysis::CandidateRow;
using analysis::Outcome;

CandidateEvaluator::CandidateEvaluator(const search::Space& space, double time_limit, int parent)
    : space_(space), time_limit_(time_limit), parent_(parent) {}

evaluation::Evaluator& CandidateEvaluator::evaluator(const config::Value& scenario) {
  if (!evaluator_)
    evaluator_ = std::make_unique<evaluation::Evaluator>(config::read_scenario(scenario),
                                                         space_.sweep().memory.value_or(0));
  return *evaluator_;
}

CandidateRow CandidateEvaluator::row_of(std::uint64_t candidate, Outcome outcome,
                                        const std::string& note) const {
  CandidateRow row;
  row.candidate = candidate;
  row.group = space_.group(candidate / space_.schedules());
  row.outcome = outcome;
  row.note = note;
  return row;
}

std::vector<CandidateRow> CandidateEvaluator::assess(std::span<const std::uint64_t> candidates) {
  std::vector<CandidateRow> rows;
  while (!candidates.empty()) {
    const std::uint64_t layout = candidates.front() / space_.schedules();
    const auto other = [&](std::uint64_t candidate) {
      return candidate / space_.schedules() != layout;
    };
    const auto end = std::ranges::find_if(candidates, other) - candidates.begin();
    const auto count = static_cast<std::size_t>(end);
    std::ranges::move(assess_layout(candidates.first(count)), std::back_inserter(rows));
    candidates = candidates.subspan(count);
  }
  return rows;
}

// One of a layout's schedules may spoil what is done for all of them: then each is tried alone.
std::vector<CandidateRow> CandidateEvaluator::assess_layout(
    std::span<const std::uint64_t> candidates) {
  std::string note;
  Outcome outcome = Outcome::failed;
  try {
    std::vector<std::uint32_t> schedules;
    for (const std::uint64_t candidate : candidates)
      schedules.push_back(static_cast<std::uint32_t>(candidate % space_.schedules()));
    const config::Value tree = space_.layout(candidates.front() / space_.schedules(), schedules);
    std::vector<CandidateRow> rows = evaluator(tree).assess(tree);
    if (rows.size() != candidates.size())
      throw std::logic_error(
          fmt::format("{} schedules, and {} rows", candidates.size(), rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].candidate = candidates[i];
      rows[i].group = space_.group(candidates[i] / space_.schedules());
    }
    return rows;
  } catch (const config::Error& error) {
    outcome = Outcome::illegal;
    note = error.what();
  } catch (const std::bad_alloc&) {
    note = "not enough memory to assess it";
  } catch (const std::exception& error) {
    note = error.what();
  }
  if (candidates.size() == 1) return {row_of(candidates.front(), outcome, note)};
  std::vector<CandidateRow> rows;
  for (const std::uint64_t& candidate : candidates)
    rows.push_back(assess_layout({&candidate, 1}).front());
  return rows;
}

std::optional<CandidateRow> CandidateEvaluator::simulate(std::uint64_t candidate) {
  try {
    const config::Value tree = space_.candidate(candidate);
    evaluator(tree);  // before the child, for the next one too
    const auto body = [&] { return analysis::to_json_line(evaluator_->simulate(tree)); };
    const std::optional<search::Said> said = search::run_within(time_limit_, body, parent_);
    if (!said) return std::nullopt;
    if (said->failed) return row_of(candidate, Outcome::failed, said->text);
    CandidateRow row = analysis::row_of_json(said->text);
    row.candidate = candidate;
    row.group = space_.group(candidate / space_.schedules());
    return row;
  } catch (const std::bad_alloc&) {
    return row_of(candidate, Outcome::failed, "not enough memory to begin its simulation");
  } catch (const std::exception& error) {
    return row_of(candidate, Outcome::failed, error.what());
  }
}

}  // namespace pipewright::cli
