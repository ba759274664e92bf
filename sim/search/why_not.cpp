#include "sim/search/why_not.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

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
  Value* constraints = config::find(*section, "constraints");
  if (constraints == nullptr) {
    section->entries.push_back({"constraints", {option}, std::move(added)});
    return;
  }
  if (constraints->kind != Value::Kind::list) {
    const Value single = *constraints;
    *constraints = {.kind = Value::Kind::list, .origin = single.origin, .items = {single}};
  }
  constraints->items.push_back(std::move(added));
}

std::vector<analysis::CandidateRow> rows_of_part(const analysis::SearchRun& whole,
                                                 const Space& part) {
  std::vector<analysis::CandidateRow> rows;
  for (const analysis::CandidateRow& row : whole.rows)
    if (part.contains(row.candidate)) rows.push_back(row);
  return rows;
}

}  // namespace

Space part_with_constraint(const config::Value& sweep, const std::vector<ClusterFacts>& facts,
                           const std::string& condition, const std::string& option) {
  Value tree = sweep;
  add_constraint(tree, condition, option);
  return {read_sweep(tree), facts};
}

analysis::SearchRun search_part(const analysis::SearchRun& whole, const Space& part,
                                Workers& workers, const SearchOptions& options,
                                const SearchCalls& calls) {
  SearchOptions part_options = options;
  part_options.known = rows_of_part(whole, part);
  for (std::size_t worker = 0; worker < workers.count(); ++worker) workers.restart(worker);
  return run_search(part, workers, part_options, calls);
}

analysis::WhyNot why_not(const analysis::SearchRun& whole, const Space& part,
                         const std::string& condition, Workers& workers,
                         const SearchOptions& options, const SearchCalls& calls) {
  if (part.combinations() != whole.combinations)
    throw std::logic_error("a part of a sweep must have as many combinations as the whole");
  analysis::WhyNot answer{.condition = condition, .matches = {}, .refusal = {}};
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto has_candidate = [&](const analysis::CandidateRow& row) {
    return part.contains(row.candidate);
  };
  const bool is_empty = std::ranges::none_of(whole.rows, has_candidate) && part.is_empty([&] {
    return (calls.interrupted && calls.interrupted()) ||
           (options.budget_s && seconds() > *options.budget_s);
  });
  if (is_empty) {
    answer.refusal = part.why_empty();
    return answer;
  }
  SearchOptions rest = options;
  if (rest.budget_s) rest.budget_s = std::max(0.0, *rest.budget_s - seconds());
  answer.matches = search_part(whole, part, workers, rest, calls);
  return answer;
}

}  // namespace pipewright::search
