#include "sim/worker/cluster_worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>

#include "analysis/report/search/row_json.hpp"
#include "analysis/report/search/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/value.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/goodput/candidate_goodput.hpp"
#include "sim/process/process.hpp"
#include "sim/process/run.hpp"
#include "sim/search/messages.hpp"

namespace pipewright::worker {
namespace {

using analysis::CandidateRow;
using analysis::Outcome;

// Evaluates candidates on one cluster. If a candidate causes an error, its row contains the error.
class ClusterWorker {
 public:
  // `time_limit` limits the seconds of one simulation; 0 means no limit.
  ClusterWorker(const search::Space& space, double time_limit, process::Channel& parent)
      : space_(space), time_limit_(time_limit), parent_(parent) {
    const analysis::Objective& objective = space.sweep().objective;
    if (objective.kind != analysis::Objective::Kind::tokens_a_day) return;
    least_lost_ = [this, seeds = objective.seeds](const config::Scenario& scenario,
                                                  const CandidateRow& row) {
      if (!ratio_bound_) ratio_bound_.emplace(scenario.variation.seed, seeds);
      return goodput::lost_part_bound(scenario, row, *ratio_bound_);
    };
  }

  std::vector<CandidateRow> assess(std::span<const std::uint64_t> candidates,
                                   analysis::Basis basis);
  // Simulates a candidate in a child process and returns its row. Returns nothing if the parent has
  // ended.
  std::optional<CandidateRow> simulate(std::uint64_t candidate);

 private:
  evaluation::Evaluator& evaluator(const config::Value& scenario);
  std::vector<CandidateRow> assess_layout(std::span<const std::uint64_t> candidates,
                                          analysis::Basis basis);
  CandidateRow row_of(std::uint64_t candidate, Outcome outcome, const std::string& note) const;

  const search::Space& space_;
  double time_limit_;
  process::Channel& parent_;
  std::unique_ptr<evaluation::Evaluator> evaluator_;
  evaluation::Evaluator::LeastLost least_lost_;  // empty without a goodput run
  std::optional<goodput::RatioBound> ratio_bound_;
};

evaluation::Evaluator& ClusterWorker::evaluator(const config::Value& scenario) {
  if (!evaluator_)
    evaluator_ = std::make_unique<evaluation::Evaluator>(config::read_scenario(scenario),
                                                         space_.sweep().memory.value_or(0),
                                                         space_.sweep().has_rules);
  return *evaluator_;
}

CandidateRow ClusterWorker::row_of(std::uint64_t candidate, Outcome outcome,
                                   const std::string& note) const {
  CandidateRow row;
  row.candidate = candidate;
  row.group = space_.group(candidate / space_.schedules());
  row.outcome = outcome;
  row.note = note;
  return row;
}

std::vector<CandidateRow> ClusterWorker::assess(std::span<const std::uint64_t> candidates,
                                                analysis::Basis basis) {
  std::vector<CandidateRow> rows;
  while (!candidates.empty()) {
    const std::uint64_t layout = candidates.front() / space_.schedules();
    const auto has_other_layout = [&](std::uint64_t candidate) {
      return candidate / space_.schedules() != layout;
    };
    const auto end = std::ranges::find_if(candidates, has_other_layout) - candidates.begin();
    const auto count = static_cast<std::size_t>(end);
    std::ranges::move(assess_layout(candidates.first(count), basis), std::back_inserter(rows));
    candidates = candidates.subspan(count);
  }
  return rows;
}

// Computes the bounds of candidates that differ only in their schedules. If this fails for all of
// them together, each is assessed alone, so that one faulty schedule does not affect the others.
std::vector<CandidateRow> ClusterWorker::assess_layout(std::span<const std::uint64_t> candidates,
                                                       analysis::Basis basis) {
  std::string note;
  Outcome outcome = Outcome::failed;
  try {
    std::vector<std::uint32_t> schedules;
    for (const std::uint64_t candidate : candidates)
      schedules.push_back(static_cast<std::uint32_t>(candidate % space_.schedules()));
    const config::Value tree = space_.layout(candidates.front() / space_.schedules(), schedules);
    std::vector<CandidateRow> rows = evaluator(tree).assess(tree, basis, least_lost_);
    if (rows.size() != candidates.size())
      throw std::logic_error(
          fmt::format("{} schedules have {} rows", candidates.size(), rows.size()));
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
    rows.push_back(assess_layout({&candidate, 1}, basis).front());
  return rows;
}

std::optional<CandidateRow> ClusterWorker::simulate(std::uint64_t candidate) {
  try {
    const config::Value tree = space_.candidate(candidate);
    evaluator(tree).get_ready();  // before the fork, so that later children have it, too
    const auto body = [&] { return analysis::to_json_line(evaluator_->simulate(tree)); };
    const std::optional<process::Result> result = process::run_within(time_limit_, body, parent_);
    if (!result) return std::nullopt;
    if (result->failed) return row_of(candidate, Outcome::failed, result->text);
    CandidateRow row = analysis::row_of_json(result->text);
    row.candidate = candidate;
    row.group = space_.group(candidate / space_.schedules());
    if (!least_lost_) row.site = {};
    return row;
  } catch (const std::bad_alloc&) {
    return row_of(candidate, Outcome::failed, "not enough memory to start its simulation");
  } catch (const std::exception& error) {
    return row_of(candidate, Outcome::failed, error.what());
  }
}

// Reads tasks and sends their answers until the parent has ended.
void serve_tasks(const search::Space& space, const WorkerSettings& settings,
                 process::Channel& parent) {
  if (settings.memory_bytes > 0) process::limit_memory(settings.memory_bytes);
  ClusterWorker worker(space, settings.time_limit_s, parent);
  while (const std::optional<std::string> line = parent.receive()) {
    const search::Task task = search::read_task(*line);
    search::Answer answer{.id = task.id, .rows = {}};
    if (task.kind == search::Task::Kind::assess) {
      answer.rows = worker.assess(task.candidates, task.basis);
    } else {
      std::optional<CandidateRow> row = worker.simulate(task.candidates.at(0));
      if (!row) return;
      answer.rows.push_back(std::move(*row));
    }
    if (!parent.send(to_line(answer))) return;
  }
}

}  // namespace

void evaluate_on_cluster(const search::Space& space, const WorkerSettings& settings,
                         process::Channel& parent) {
  dup2(STDERR_FILENO, STDOUT_FILENO);  // standard output is the coordinator's
  try {
    serve_tasks(space, settings, parent);
  } catch (const std::exception& error) {
    fmt::print(stderr, "pipewright: {}\n", error.what());
    std::_Exit(EX_SOFTWARE);
  }
}

}  // namespace pipewright::worker
