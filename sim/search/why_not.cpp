#include "sim/search/why_not.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace pipewright::search {
namespace {

using config::Value;

void add_constraint(Value& sweep, const std::string& condition, const std::string& option) {
  Value added = config::make_text(condition, {option});
  Value* section = config::find(sweep, "search");
  if (section == nullptr) {
    sweep.entries.push_back({"search", {option}, Value{.origin = {option}}});
    section = &sweep.entries.back().value;
  }
  Value* given = config::find(*section, "constraints");
  if (given == nullptr) {
    section->entries.push_back({"constraints", {option}, std::move(added)});
    return;
  }
  if (given->kind != Value::Kind::list) {
    const Value alone = *given;
    *given = {.kind = Value::Kind::list, .origin = alone.origin, .items = {alone}};
  }
  given->items.push_back(std::move(added));
}

std::vector<std::uint64_t> candidates_of(const Space& space) {
  std::vector<std::uint64_t> all;
  space.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    for (const std::uint32_t one : schedules) all.push_back(layout * space.schedules() + one);
    return true;
  });
  return all;
}

std::vector<analysis::CandidateRow> known_of(const analysis::SearchRun& whole,
                                             const std::vector<std::uint64_t>& candidates) {
  std::vector<analysis::CandidateRow> rows;
  for (const analysis::CandidateRow& row : whole.rows)
    if (std::ranges::binary_search(candidates, row.candidate)) rows.push_back(row);
  return rows;
}

}  // namespace

Space narrowed(const config::Value& sweep, const std::vector<ClusterFacts>& facts,
               const std::string& condition, const std::string& option) {
  Value tree = sweep;
  add_constraint(tree, condition, option);
  return {read_sweep(tree), facts};
}

std::optional<std::string> why_no_candidate(std::uint64_t candidate, const Space& space,
                                            const std::vector<ClusterFacts>& facts) {
  const std::uint64_t wanted = candidate / space.schedules();
  bool is_there = false;
  space.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    is_there = layout == wanted && std::ranges::count(schedules, candidate % space.schedules()) > 0;
    return layout < wanted;
  });
  if (is_there) return std::nullopt;
  // In a sweep of this combination alone the rule cuts away all there is. Parallel sizes that are
  // open come to all GPUs of a cluster, but do not look open there.
  Sweep alone = space.sweep();
  alone.scenario = space.candidate(candidate);
  const ClusterFacts& cluster = facts.at(space.cluster(wanted));
  if (alone.gpus.empty() && cluster.gpus > 0) alone.gpus = {cluster.gpus};
  const std::vector<analysis::Excluded> known = space.excluded();
  for (const analysis::Excluded& rule : Space(std::move(alone), {cluster}).excluded())
    if (rule.combinations > 0 &&
        std::ranges::count(known, rule.rule, &analysis::Excluded::rule) > 0)
      return fmt::format("the rule `{}` cuts it away", config::shown(rule.rule));
  return "another one comes to the same";
}

analysis::SearchRun search_part(const analysis::SearchRun& whole, const Space& part,
                                Workers& workers, const SearchOptions& options,
                                const SearchCalls& calls) {
  SearchOptions own = options;
  own.known = known_of(whole, candidates_of(part));
  for (std::size_t worker = 0; worker < workers.count(); ++worker) workers.restart(worker);
  return run_search(part, workers, own, calls);
}

analysis::WhyNot why_not(const analysis::SearchRun& whole, const Space& part,
                         const std::string& condition, Workers& workers,
                         const SearchOptions& options, const SearchCalls& calls) {
  if (part.combinations() != whole.combinations)
    throw std::logic_error("a part of a sweep has other combinations than the whole");
  analysis::WhyNot answer{.condition = condition, .among = {}, .empty = {}};
  if (candidates_of(part).empty()) {
    answer.empty = part.why_empty();
    return answer;
  }
  answer.among = search_part(whole, part, workers, options, calls);
  return answer;
}

}  // namespace pipewright::search
