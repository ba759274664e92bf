#include "sim/workload/shape/layout_checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/workload/shape/shape.hpp"

namespace pipewright::workload {
namespace {

using config::Axis;
using config::Parallel;
using Located = config::Located<std::uint32_t>;

// In the order of config::Axis.
constexpr std::array<Located Parallel::*, config::axes> sizes{
    &Parallel::tp, &Parallel::cp, &Parallel::ep, &Parallel::dp, &Parallel::pp};

// One number of a layout has to divide something. All layouts of a model have the same rules, in
// the same order.
struct Rule {
  Axis axis;
  std::uint64_t whole;
  std::string_view of;  // what that is

  bool holds(const Parallel& parallel) const { return whole % size(parallel).value == 0; }
  const Located& size(const Parallel& parallel) const {
    return parallel.*sizes[static_cast<std::size_t>(axis)];
  }
};

std::string_view name_of(Axis axis) {
  return axis == Axis::tp ? "parallel.tp" : axis == Axis::cp ? "parallel.cp" : "parallel.ep";
}

// "8.03 billion"
std::string in_billions(double parameters) {
  return fmt::format("{:.4g} billion", parameters / 1e9);
}

void add_tp_rules(const config::Model& model, std::vector<Rule>& rules) {
  const auto add = [&](std::uint64_t whole, std::string_view of) {
    rules.push_back({Axis::tp, whole, of});
  };
  add(model.heads, "the model's heads");
  if (!model.latent) add(model.kv_heads, "the model's kv_heads");
  const bool dense = !model.experts || model.experts->first_dense > 0 || model.experts->every > 1;
  if (dense) add(model.ffn, "the model's ffn");
  if (!model.experts) return;
  add(model.experts->ffn, "the ffn of the model's experts");
  if (model.experts->shared > 0)
    add(std::uint64_t{model.experts->shared} * model.experts->shared_ffn,
        "the ffn of the model's shared experts");
}

std::vector<Rule> rules_of(const config::Model& model, const config::Training& training,
                           const Parallel& parallel) {
  std::vector<Rule> rules;
  add_tp_rules(model, rules);
  const std::uint32_t sequence = training.sequence.value_or(model.sequence);
  rules.push_back({Axis::cp, sequence, "the sequence"});
  if (parallel.sequence)
    rules.push_back({Axis::tp, sequence / parallel.cp.value,
                     "a rank's part of the sequence, which parallel.sp cuts"});
  rules.push_back({Axis::ep, model.experts ? model.experts->count : 1, "the model's experts"});
  rules.push_back({Axis::ep, std::uint64_t{parallel.dp.value} * parallel.cp.value,
                   "parallel.dp x parallel.cp, the ranks that share them"});
  return rules;
}

// Whether another size of an axis breaks no rule that holds now, nor any of its own.
bool mends(const config::Model& model, const config::Training& training, const Parallel& now,
           const std::vector<Rule>& rules, Axis axis, const Parallel& changed) {
  const std::vector<Rule> then = rules_of(model, training, changed);
  for (std::size_t i = 0; i < then.size(); ++i)
    if (!then[i].holds(changed) && (then[i].axis == axis || rules[i].holds(now))) return false;
  return true;
}

}  // namespace

void check_parameters(const config::Model& model) {
  constexpr double most = 0.005;
  const double given = model.published.value;
  const auto count = static_cast<double>(parameter_count(model));
  if (given <= 0 || std::abs(given / count - 1) <= most) return;
  throw config::Error(config::locate(
      model.published.origin,
      fmt::format("model.parameters is {}, and the other keys come to {}, {:.1f} % {}; allowed: "
                  "within 0.5 %; mend the key that is wrong, or leave parameters out",
                  in_billions(given), in_billions(count), 100 * std::abs(count / given - 1),
                  count > given ? "more" : "fewer")));
}

bool layout_fits(const config::Model& model, const config::Training& training,
                 const Parallel& parallel) {
  for (const Rule& rule : rules_of(model, training, parallel))
    if (!rule.holds(parallel)) return false;
  return true;
}

Parallel with_size(Parallel parallel, Axis axis, std::uint32_t size) {
  (parallel.*sizes[static_cast<std::size_t>(axis)]).value = size;
  return parallel;
}

void check_layout(const config::Model& model, const config::Training& training,
                  const Parallel& parallel, const LayoutFits& also) {
  const std::vector<Rule> rules = rules_of(model, training, parallel);
  for (const Rule& rule : rules) {
    if (rule.holds(parallel)) continue;
    const Located& size = rule.size(parallel);
    if (rule.axis == Axis::ep && !model.experts)
      throw config::Error(config::locate(
          size.origin,
          fmt::format("parallel.ep is {}, and the model has no experts; allowed: 1", size.value)));
    const auto offers = [&](const LayoutFits& fits) {
      return nearest(size.value, rule.whole, [&](std::uint32_t other) {
        return rule.whole % other == 0 && fits(with_size(parallel, rule.axis, other));
      });
    };
    // Where no number suits all, what is amiss besides is said when this one is mended.
    const auto holds_its_own = [&](const Parallel& other) {
      return std::ranges::all_of(rules_of(model, training, other), [&](const Rule& each) {
        return each.axis != rule.axis || each.holds(other);
      });
    };
    const auto breaks_nothing = [&](const Parallel& other) {
      return mends(model, training, parallel, rules, rule.axis, other);
    };
    std::vector<std::uint32_t> offered = offers(
        [&](const Parallel& other) { return breaks_nothing(other) && (!also || also(other)); });
    if (offered.empty()) offered = offers(breaks_nothing);
    if (offered.empty()) offered = offers(holds_its_own);
    throw config::Error(config::locate(
        size.origin,
        fmt::format("{} is {}, which does not divide {} ({}); allowed: a divisor, such as {}",
                    name_of(rule.axis), size.value, rule.of, rule.whole,
                    fmt::join(offered, " or "))));
  }
}

}  // namespace pipewright::workload
