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

}  // namespace

std::vector<Judgement> judge(std::span<const Condition> conditions, const NamedMetrics& base,
                             std::span<const NamedMetrics> runs) {
  std::vector<Judgement> judgements;
  for (const NamedMetrics& run : runs)
    for (const Condition& condition : conditions) {
      Judgement judgement{.condition = condition, .base_name = base.name, .name = run.name};
      judgement.quantity = find_metric(base.metrics, condition.metric)->quantity;
      judgement.value = known(condition, run);
      // What is asked of a run alone does not need the other's.
      judgement.base =
          condition.operand == Operand::value ? judgement.value : known(condition, base);
      judgement.holds = holds(condition, judgement.base, judgement.value);
      judgements.push_back(judgement);
    }
  return judgements;
}

bool any_holds(std::span<const Judgement> judgements) {
  return std::ranges::any_of(judgements, &Judgement::holds);
}

std::string describe(std::span<const Judgement> judgements) {
  std::string text;
  for (const Judgement& one : judgements) {
    text += fmt::format("{} {}: {} has {}", printable(one.condition.text),
                        one.holds ? "holds" : "does not hold", printable(one.name),
                        format_value(one.quantity, one.value));
    if (one.condition.operand != Operand::value)
      text += fmt::format(", {} {} ({})", printable(one.base_name),
                          format_value(one.quantity, one.base),
                          one.condition.operand == Operand::change
                              ? format_change(one.base, one.value)
                              : format_difference(one.quantity, one.value - one.base));
    text += '\n';
  }
  return text;
}

}  // namespace pipewright::analysis
