#include "sim/sweep/domain.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/stack.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/constraint_names.hpp"
#include "sim/sweep/equivalents.hpp"

namespace pipewright::search {
namespace {

// Returns the indices of the open axes on whose values an expression depends.
std::vector<std::size_t> axes_of_program(const Program& program, const SweepAxes& axes) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < axes.open.size(); ++i) {
    const auto& names = axes.open[i].values.front().names;
    if (std::ranges::any_of(names,
                            [&](const auto& name) { return program.slots().contains(name.first); }))
      result.push_back(i);
  }
  return result;
}

std::optional<Program> distance_program(const Expression& expression, Names& names) {
  using Op = Expression::Op;
  if (expression.op < Op::less || expression.op > Op::equal) return std::nullopt;
  Expression difference = expression;
  difference.op = Op::subtract;
  try {
    return Program(difference, names);
  } catch (const ExpressionError&) {
    return std::nullopt;  // it compares texts
  }
}

Rule make_rule(const std::string& text, const config::Origin& origin, const SweepAxes& axes,
               Names& names) {
  Rule rule;
  rule.text = text;
  rule.origin = origin;
  try {
    const Expression expression = parse_expression(text);
    rule.program.emplace(expression, names);
    if (rule.program->type() != Type::truth)
      throw ExpressionError(
          1, fmt::format("it is {}, but a constraint must be true or false; compare it, "
                         "as in tp <= 8",
                         rule.program->type() == Type::number ? "a number" : "a text"));
    rule.distance = distance_program(expression, names);
  } catch (const ExpressionError& error) {
    throw fault_of(rule, error);
  }
  rule.axes = axes_of_program(*rule.program, axes);
  return rule;
}

Rule gpu_rule(const SweepAxes& axes) {
  Rule rule;
  rule.text = axes.gpus.size() == 1
                  ? fmt::format("tp * cp * pp * dp == {}", axes.gpus.front())
                  : fmt::format("tp * cp * pp * dp == one of {}", fmt::join(axes.gpus, ", "));
  for (std::size_t i = 0; i < axes.open.size(); ++i) {
    const auto sets_size = [](const AxisValue& value) { return value.gpus != 1; };
    if (axes.open[i].info.key == "cluster" || std::ranges::any_of(axes.open[i].values, sets_size))
      rule.axes.push_back(i);
  }
  return rule;
}

bool is_axis_open(const SweepAxes& axes, std::string_view key) {
  return find_axis(axes.open, key) != nullptr;
}

// Returns the allowed numbers of GPUs on a cluster: those of search.gpus that the cluster is large
// enough for, or else the number of all its GPUs.
std::vector<std::uint64_t> allowed_gpus_on(const ClusterFacts& cluster, const Sweep& sweep) {
  if (sweep.gpus.empty()) return {cluster.gpus};
  std::vector<std::uint64_t> counts;
  for (const std::uint32_t gpus : sweep.gpus)
    if (cluster.gpus == 0 || gpus <= cluster.gpus) counts.push_back(gpus);
  return counts;
}

// Returns the partition of all candidates: that of the scenario, else that of its stack; nothing
// where candidates may differ in it, or where it has no name.
std::optional<std::string> common_partition(const SweepAxes& axes) {
  if (is_axis_open(axes, "partition")) return std::nullopt;
  const auto name_of = [](const config::Value& partition) {
    return partition.text.empty() ? std::nullopt : std::optional(partition.text);
  };
  if (const config::Value* const set = config::find(axes.scenario, "partition"))
    return name_of(*set);
  if (is_axis_open(axes, "stack")) return std::nullopt;
  if (const config::Value* const stack = config::find(axes.scenario, "stack")) {
    const config::Value tree = config::stack_tree({*stack, "stack"});
    if (const config::Value* const preset = config::find(tree, "partition"))
      return name_of(*preset);
  }
  return "even";
}

// Returns by how much the number of stages may exceed the number of layers; nothing where the
// partition sets other limits. Stages with the embedding or the loss need no layer, and modules of
// multi-token prediction may have stages of their own.
std::optional<std::uint32_t> spare_stages(const SweepAxes& axes) {
  if (axes.models.empty()) return std::nullopt;
  const std::optional<std::string> partition = common_partition(axes);
  const bool is_even = partition == "even";
  if (!is_even && partition != "ends_less") return std::nullopt;
  std::uint32_t extra = 0;
  for (const config::Model& model : axes.models) extra = std::max(extra, model.mtp_layers);
  return (is_even ? 1 : 2) + extra;
}

// Returns the rules that candidates must meet: those of every sweep, then the constraints of this
// one, then those that leave one of several equivalent candidates. Throws config::Error.
std::vector<Rule> make_rules(const Sweep& sweep, const SweepAxes& axes, Names& names) {
  std::vector<Rule> rules;
  if (!axes.gpus.empty()) rules.push_back(gpu_rule(axes));
  // The name `microbatches` is defined as an expression only where the sweep has a global batch.
  if (names.definition("microbatches") != nullptr)
    rules.push_back(make_rule("global_batch % (dp * microbatch_size) == 0", {}, axes, names));
  // An axis of ep has values for all models of the sweep, so a value may not divide the experts of
  // one of them.
  if (is_axis_open(axes, "parallel.ep") && is_axis_open(axes, "model"))
    rules.push_back(make_rule("ep == 1 or experts > 0 and experts % ep == 0", {}, axes, names));
  if (const auto spare = spare_stages(axes))
    rules.push_back(make_rule(fmt::format("pp * chunks <= layers + {}", *spare), {}, axes, names));
  const std::size_t first_constraint = rules.size();
  for (const config::Located<std::string>& constraint : sweep.constraints)
    rules.push_back(make_rule(constraint.value, constraint.origin, axes, names));
  const std::size_t end_of_constraints = rules.size();
  // Rules that keep one of several equivalent candidates. A rule is left out if a constraint
  // depends on the axis in which they differ, since the constraint may exclude just the one that is
  // kept.
  for (const EquivalenceRule& equivalence : equivalence_rules(axes)) {
    const SweepAxis* const axis = find_axis(axes.open, equivalence.key);
    const auto depends_on_axis = [&](const Rule& rule) {
      return std::ranges::any_of(rule.axes,
                                 [&](std::size_t index) { return &axes.open[index] == axis; });
    };
    if (std::any_of(rules.begin() + std::ptrdiff_t(first_constraint),
                    rules.begin() + std::ptrdiff_t(end_of_constraints), depends_on_axis))
      continue;
    Rule rule = make_rule(equivalence.condition, {}, axes, names);
    rule.text = equivalence.text;
    rule.merges_equivalents = true;
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

config::Error fault_of(const Rule& rule, const ExpressionError& error) {
  return config::Error(error).within(
      rule.origin,
      fmt::format("constraint {}, column {}", config::in_quotes(rule.text), error.column));
}

Domain::Domain(const Sweep& sweep, const std::vector<ClusterFacts>& facts)
    : axes(make_axes(sweep, facts)),
      names(make_names(sweep, facts, axes)),
      rules(make_rules(sweep, axes, names)) {
  config::Value rest = axes.scenario;
  for (const SweepAxis& axis : axes.open) {
    at_path(rest, axis.path) = {};
    combinations *= static_cast<double>(axis.values.size());
  }
  fixed_gpus = size_product(scalars(rest, ""));
  for (const ClusterFacts& cluster : facts) allowed_gpus.push_back(allowed_gpus_on(cluster, sweep));
  if (allowed_gpus.empty()) allowed_gpus.push_back(allowed_gpus_on({}, sweep));
}

std::string Domain::shown(std::span<const std::uint32_t> digits) const {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const analysis::SearchAxis& axis = axes.open[i].info;
    if (axis.values.size() > 1)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis.name,
                          config::shown(axis.values[digits[i]]));
  }
  return text;
}

}  // namespace pipewright::search
