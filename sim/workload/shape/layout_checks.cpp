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

// A number of a layout by its key.
struct Size {
  std::string_view key;
  const Located& (*of)(const Parallel&);
  void (*set)(Parallel&, std::uint32_t);

  bool operator==(const Size& other) const { return key == other.key; }
};

template <Located Parallel::*member>
constexpr Size size_of(std::string_view key) {
  return {key, [](const Parallel& parallel) -> const Located& { return parallel.*member; },
          [](Parallel& parallel, std::uint32_t size) { (parallel.*member).value = size; }};
}
constexpr Size tp = size_of<&Parallel::tp>("parallel.tp");
constexpr Size cp = size_of<&Parallel::cp>("parallel.cp");
constexpr Size ep = size_of<&Parallel::ep>("parallel.ep");
// Where it is not given it is tp.
constexpr Size etp{"parallel.etp",
                   [](const Parallel& parallel) -> const Located& {
                     return parallel.etp ? *parallel.etp : parallel.tp;
                   },
                   [](Parallel& parallel, std::uint32_t size) { parallel.etp->value = size; }};

// Ranks of cp that deal out heads, of a2a+p2p; the others stay in a ring.
constexpr Size cp_a2a{"the first of parallel.hierarchical_context_parallel_sizes",
                      [](const Parallel& parallel) -> const Located& {
                        return parallel.cp_sizes.empty() ? parallel.cp : parallel.cp_sizes.front();
                      },
                      [](Parallel& parallel, std::uint32_t size) {
                        if (parallel.cp_sizes.empty()) return;
                        parallel.cp_sizes.front().value = size;
                        parallel.cp_sizes.back().value = parallel.cp.value / size;
                      }};

// One number of a layout has to divide something. All layouts of a model have the same rules, in
// the same order.
struct Rule {
  Size size;
  std::uint64_t whole;
  std::string_view of;  // what that is

  bool holds(const Parallel& parallel) const { return whole % size.of(parallel).value == 0; }
  Parallel with(Parallel parallel, std::uint32_t other) const {
    size.set(parallel, other);
    return parallel;
  }
};

// "8.03 billion"
std::string in_billions(double parameters) {
  return fmt::format("{:.4g} billion", parameters / 1e9);
}

void add_tp_rules(const config::Model& model, std::vector<Rule>& rules) {
  const auto add = [&](std::uint64_t whole, std::string_view of) {
    rules.push_back({tp, whole, of});
  };
  add(model.heads, "the model's heads");
  bool dense = false;
  bool grouped = false;  // keys and values, in heads of their own
  for (const LayerKind kind : kinds_of(model)) {
    const Mixer mixer = mixer_of(model, kind);
    grouped = grouped || mixer == Mixer::attention || mixer == Mixer::sliding;
    dense = dense || feed_forward_of(kind) == FeedForward::dense;
  }
  if (grouped) add(model.kv_heads, "the model's kv_heads");
  if (dense) add(model.ffn, "the model's ffn");
  if (model.mamba) add(model.mamba->groups, "the groups of the model's Mamba-2 layers");
  if (model.linear_attention)
    add(model.linear_attention->key_heads, "the heads of the model's gated delta nets");
  if (model.experts && model.experts->shared > 0)
    add(std::uint64_t{model.experts->shared} * model.experts->shared_ffn,
        "the ffn of the model's shared experts");
}

// Experts lay the ranks of a stage out by themselves.
void add_expert_rules(const config::Model& model, const Parallel& parallel,
                      std::vector<Rule>& rules) {
  const std::uint64_t ranks = parallel.ranks_of_stage();
  if (parallel.etp) rules.push_back({etp, model.experts ? ranks : 1, "the ranks of tp x cp x dp"});
  if (model.experts) rules.push_back({etp, model.experts->ffn, "the ffn of the model's experts"});
  rules.push_back({ep, model.experts ? model.experts->count : 1, "the model's experts"});
  rules.push_back({ep, std::max<std::uint64_t>(1, ranks / parallel.expert_tp()),
                   parallel.etp ? "tp x cp x dp / etp, the ranks that share them"
                                : "parallel.dp x parallel.cp, the ranks that share them"});
}

std::vector<Rule> rules_of(const config::Model& model, const config::Training& training,
                           const Parallel& parallel) {
  std::vector<Rule> rules;
  add_tp_rules(model, rules);
  const std::uint32_t sequence = training.sequence.value_or(model.sequence);
  rules.push_back({cp, sequence, "the sequence"});
  // As Megatron-LM asks for.
  if (parallel.cp_balance == config::ContextBalance::head_tail)
    rules.push_back({cp, sequence / 2,
                     "half of the sequence, of whose ends cp_load_balance head_tail gives a rank "
                     "a part each"});
  const std::uint64_t heads =
      std::max<std::uint64_t>(1, (model.latent ? model.heads : model.kv_heads) / parallel.tp.value);
  if (parallel.cp_comm == config::ContextComm::a2a)
    rules.push_back({cp, heads, "a rank's heads of keys and values, which a2a deals out"});
  if (parallel.cp_comm == config::ContextComm::a2a_p2p)
    rules.push_back({cp_a2a, heads, "a rank's heads of keys and values, which a2a deals out"});
  if (parallel.sequence)
    rules.push_back({tp, sequence / parallel.cp.value,
                     "a rank's part of the sequence, which parallel.sp cuts"});
  add_expert_rules(model, parallel, rules);
  return rules;
}

// Megatron-Core's training refuses it: without sequence parallelism the ranks of tp would hand out
// the same tokens.
bool repeats_tokens(const config::Model& model, const Parallel& parallel) {
  return model.experts && parallel.tp.value > 1 && !parallel.sequence;
}

// Whether another number breaks no rule that holds now, nor any of its own.
bool mends(const config::Model& model, const config::Training& training, const Parallel& now,
           const std::vector<Rule>& rules, const Size& size, const Parallel& changed) {
  const std::vector<Rule> then = rules_of(model, training, changed);
  for (std::size_t i = 0; i < then.size(); ++i)
    if (!then[i].holds(changed) && (then[i].size == size || rules[i].holds(now))) return false;
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
  const auto fits = [&](const Parallel& one) {
    return !repeats_tokens(model, one) &&
           std::ranges::all_of(rules_of(model, training, one),
                               [&](const Rule& rule) { return rule.holds(one); });
  };
  if (parallel.tp_by_device.empty()) return fits(parallel);
  for (std::uint32_t device = 0; device < parallel.pp.value; ++device)
    if (!fits(parallel.on(device))) return false;
  return true;
}

Parallel with_size(Parallel parallel, Axis axis, std::uint32_t size) {
  (parallel.*sizes[static_cast<std::size_t>(axis)]).value = size;
  return parallel;
}

void check_layout(const config::Model& model, const config::Training& training,
                  const Parallel& parallel, const LayoutFits& also) {
  if (!parallel.tp_by_device.empty()) {
    for (std::uint32_t device = 0; device < parallel.pp.value; ++device)
      check_layout(model, training, parallel.on(device), {});
    return;
  }
  if (repeats_tokens(model, parallel))
    throw config::Error(config::locate(
        parallel.tp.origin,
        fmt::format("parallel.tp is {} without parallel.sp, and experts would get the tokens of "
                    "all {} ranks alike; allowed, as in Megatron-Core: sp true, or tp 1",
                    parallel.tp.value, parallel.tp.value)));
  const std::vector<Rule> rules = rules_of(model, training, parallel);
  for (const Rule& rule : rules) {
    if (rule.holds(parallel)) continue;
    const Located& size = rule.size.of(parallel);
    if (!model.experts && (rule.size == ep || rule.size == etp))
      throw config::Error(config::locate(
          size.origin, fmt::format("{} is {}, and the model has no experts; allowed: 1",
                                   rule.size.key, size.value)));
    const auto offers = [&](const LayoutFits& fits) {
      return nearest(size.value, rule.whole, [&](std::uint32_t other) {
        return rule.whole % other == 0 && fits(rule.with(parallel, other));
      });
    };
    // Where no number suits all, what is amiss besides is said when this one is mended.
    const auto holds_its_own = [&](const Parallel& other) {
      return std::ranges::all_of(rules_of(model, training, other), [&](const Rule& each) {
        return !(each.size == rule.size) || each.holds(other);
      });
    };
    const auto breaks_nothing = [&](const Parallel& other) {
      return mends(model, training, parallel, rules, rule.size, other);
    };
    std::vector<std::uint32_t> offered = offers(
        [&](const Parallel& other) { return breaks_nothing(other) && (!also || also(other)); });
    if (offered.empty()) offered = offers(breaks_nothing);
    if (offered.empty()) offered = offers(holds_its_own);
    throw config::Error(config::locate(
        size.origin,
        fmt::format("{} is {}, which does not divide {} ({}); allowed: a divisor, such as {}",
                    rule.size.key, size.value, rule.of, rule.whole, fmt::join(offered, " or "))));
  }
}

}  // namespace pipewright::workload
