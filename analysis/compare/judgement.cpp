#include "analysis/compare/judgement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/text_table.hpp"

namespace pipewright::analysis {
namespace {

double known(const Condition& condition, const NamedMetrics& run) {
  const Metric* const metric = find_metric(run.metrics, condition.metric);
  if (metric != nullptr && metric->value) return *metric->value;
  throw ConditionError(fmt::format("--fail-if '{}': {} is not known of {}",
                                   printable(condition.text), printable(condition.metric),
                                   printable(run.name)));
}

Judgement ask(const Condition& condition, const NamedMetrics& base, const NamedMetrics& run) {
  Judgement judgement{.condition = condition, .base_name = base.name, .name = run.name};
  judgement.quantity = find_metric(base.metrics, condition.metric)->quantity;
  judgement.value = known(condition, run);
  // What is asked of a run alone does not need the other's.
  judgement.base = condition.operand == Operand::value ? judgement.value : known(condition, base);
  judgement.holds = holds(condition, judgement.base, judgement.value);
  return judgement;
}

std::string difference_text(const Judgement& one) {
  return one.condition.operand == Operand::change
             ? format_change(one.base, one.value)
             : format_difference(one.quantity, one.base, one.value);
}

std::string describe_error(const Judgement& one) {
  std::string measured = "measured " + format_value(one.quantity, one.base);
  if (one.condition.operand == Operand::value) return measured;
  const double error = difference(one.base, one.value);
  const std::string place = error == 0 ? "the same as"
                                       : fmt::format("{} {}", difference_text(one).substr(1),
                                                     error > 0 ? "above" : "below");
  return fmt::format("predicted {} is {} {}", format_value(one.quantity, one.value), place,
                     measured);
}

std::string describe_run(const Judgement& one) {
  std::string text =
      fmt::format("{} has {}", printable(one.name), format_value(one.quantity, one.value));
  if (one.condition.operand != Operand::value)
    text += fmt::format(", {} {} ({})", printable(one.base_name),
                        format_value(one.quantity, one.base), difference_text(one));
  return text;
}

}  // namespace

std::vector<Judgement> judge(std::span<const Condition> conditions, const NamedMetrics& base,
                             std::span<const NamedMetrics> runs) {
  std::vector<Judgement> judgements;
  for (const NamedMetrics& run : runs)
    for (const Condition& condition : conditions) judgements.push_back(ask(condition, base, run));
  return judgements;
}

std::vector<Judgement> judge_error(std::span<const Condition> conditions,
                                   const NamedMetrics& predicted, const NamedMetrics& measured) {
  std::vector<Judgement> judgements;
  for (const Condition& condition : conditions) {
    const bool is_value = condition.operand == Operand::value;
    judgements.push_back(ask(condition, measured, is_value ? measured : predicted));
    judgements.back().of_error = true;
  }
  return judgements;
}

bool any_holds(std::span<const Judgement> judgements) {
  return std::ranges::any_of(judgements, &Judgement::holds);
}

std::string describe(std::span<const Judgement> judgements) {
  std::string text;
  for (const Judgement& one : judgements)
    text += fmt::format("{} {}: {}\n", printable(one.condition.text),
                        one.holds ? "holds" : "does not hold",
                        one.of_error ? describe_error(one) : describe_run(one));
  return text;
}

}  // namespace pipewright::analysis
