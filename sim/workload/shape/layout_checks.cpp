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

// Parallel sizes of a layout, in the order of config::Axis.
constexpr std::array<Located Parallel::*, config::axes> axis_sizes{
    &Parallel::tp, &Parallel::cp, &Parallel::ep, &Parallel::dp, &Parallel::pp};

// A parallel size of a layout, such as tp, that a rule restricts to divisors of some number, with
// its key in the scenario.
struct LayoutSize {
  std::string_view key;
  const Located& (*get)(const Parallel&);
  void (*set)(Parallel&, std::uint32_t);

  bool operator==(const LayoutSize& rhs) const { return key == rhs.key; }
};

template <Located Parallel::*member>
constexpr LayoutSize layout_size(std::string_view key) {
  return {key, [](const Parallel& parallel) -> const Located& { return parallel.*member; },
          [](Parallel& parallel, std::uint32_t size) { (parallel.*member).value = size; }};
}
constexpr LayoutSize tp_size = layout_size<&Parallel::tp>("parallel.tp");
constexpr LayoutSize cp_size = layout_size<&Parallel::cp>("parallel.cp");
constexpr LayoutSize ep_size = layout_size<&Parallel::ep>("parallel.ep");
// The size parallel.etp, which equals parallel.tp unless it is set.
constexpr LayoutSize etp_size{
    "parallel.etp",
    [](const Parallel& parallel) -> const Located& {
      return parallel.etp ? *parallel.etp : parallel.tp;
    },
    [](Parallel& parallel, std::uint32_t size) { parallel.etp->value = size; }};

// Number of cp ranks that exchange heads by all-to-all with cp_comm a2a+p2p; cp divided by it is
// the size of the rings.
constexpr LayoutSize cp_a2a_size{"the first of parallel.hierarchical_context_parallel_sizes",
                                 [](const Parallel& parallel) -> const Located& {
                                   return parallel.cp_sizes.empty() ? parallel.cp
                                                                    : parallel.cp_sizes.front();
                                 },
                                 [](Parallel& parallel, std::uint32_t size) {
                                   if (parallel.cp_sizes.empty()) return;
                                   parallel.cp_sizes.front().value = size;
                                   parallel.cp_sizes.back().value = parallel.cp.value / size;
                                 }};

// A rule that a parallel size divides the number `whole`, such as the model's heads. Layouts of one
// model that differ only in parallel sizes have the same rules in the same order.
struct DivisorRule {
  LayoutSize size;
  std::uint64_t whole;
  std::string_view whole_name;    // describes `whole` in error messages
  bool allows_multiples = false;  // the size may also be a multiple of the number

  bool allows(std::uint32_t value) const {
    return whole % value == 0 || (allows_multiples && value % whole == 0);
  }
  bool holds(const Parallel& parallel) const { return allows(size.get(parallel).value); }
  Parallel with(Parallel parallel, std::uint32_t new_size) const {
    size.set(parallel, new_size);
    return parallel;
  }
};

// Formats a parameter count, such as "8.03 billion".
std::string in_billions(double parameters) {
  return fmt::format("{:.4g} billion", parameters / 1e9);
}

// Returns whether several ranks of tp may read the same head of keys and values. Megatron-Core
// requires that one number is a multiple of the other (transformer_config.py, __post_init__).
bool shares_kv_heads(const config::Training& training) {
  return training.stack.family == "megatron";
}

void add_tp_rules(const config::Model& model, const config::Training& training,
                  std::vector<DivisorRule>& rules) {
  const auto add = [&](std::uint64_t whole, std::string_view whole_name) {
    rules.push_back({tp_size, whole, whole_name});
  };
  const auto add_kv_heads = [&](std::uint64_t heads, std::string_view whole_name) {
    rules.push_back({tp_size, heads, whole_name, shares_kv_heads(training)});
  };
  add(model.heads, "the model's heads");
  bool has_dense_mlp = false;
  bool has_kv_heads = false;  // keys and values have heads of their own
  for (const LayerKind kind : kinds_of(model)) {
    const Mixer mixer = mixer_of(model, kind);
    has_kv_heads = has_kv_heads || (has_attention(mixer) && !has_low_rank(mixer));
    has_dense_mlp = has_dense_mlp || feed_forward_of(kind) == FeedForward::dense;
  }
  if (has_kv_heads) add_kv_heads(model.kv_heads, "the model's kv_heads");
  if (has_dense_mlp && model.mlp_sizes.empty()) add(model.ffn, "the model's ffn");
  for (const std::uint32_t size : model.mlp_sizes) add(size, "the size of an MLP of the model");
  if (model.sliding) {
    add(model.sliding->heads, "the heads of the model's layers with a sliding window");
    add_kv_heads(model.sliding->kv_heads,
                 "the kv_heads of the model's layers with a sliding window");
  }
  if (model.compressed)
    add(model.compressed->output_groups, "the output groups of the model's compressed attention");
  if (model.mamba) add(model.mamba->groups, "the groups of the model's Mamba layers");
  if (model.short_convolution)
    add(model.short_convolution->channels, "the channels of the model's short convolutions");
  if (model.linear_attention)
    add(model.linear_attention->key_heads, "the heads of the model's gated delta nets");
  if (model.experts && model.experts->shared > 0)
    add(std::uint64_t{model.experts->shared} * model.experts->shared_ffn,
        "the ffn of the model's shared experts");
}

// Adds the rules for the parallel sizes of the experts, which divide up the ranks of a stage
// independently of tp and cp.
void add_expert_rules(const config::Model& model, const Parallel& parallel,
                      std::vector<DivisorRule>& rules) {
  const std::uint64_t ranks = parallel.ranks_of_stage();
  if (parallel.etp)
    rules.push_back({etp_size, model.experts ? ranks : 1, "the ranks of tp x cp x dp"});
  if (model.experts)
    rules.push_back({etp_size, model.experts->ffn, "the ffn of the model's experts"});
  rules.push_back({ep_size, model.experts ? model.experts->count : 1, "the model's experts"});
  rules.push_back({ep_size, std::max<std::uint64_t>(1, ranks / parallel.expert_tp()),
                   parallel.etp ? "the ranks that share the experts, tp x cp x dp / etp"
                                : "the ranks that share the experts, parallel.dp x parallel.cp"});
}

std::vector<DivisorRule> rules_of(const config::Model& model, const config::Training& training,
                                  const Parallel& parallel) {
  std::vector<DivisorRule> rules;
  add_tp_rules(model, training, rules);
  const std::uint32_t sequence = training.sequence.value_or(model.sequence);
  rules.push_back({cp_size, sequence, "the sequence"});
  // Megatron-LM also requires that cp divides half of the sequence in this case.
  if (parallel.cp_balance == config::ContextBalance::head_tail)
    rules.push_back({cp_size, sequence / 2,
                     "half of the sequence, since cp_load_balance head_tail gives each rank a "
                     "part of both ends"});
  const std::uint64_t heads =
      std::max<std::uint64_t>(1, (model.latent ? model.heads : model.kv_heads) / parallel.tp.value);
  if (parallel.cp_comm == config::ContextComm::a2a)
    rules.push_back({cp_size, heads, "a rank's key and value heads, which a2a distributes"});
  if (parallel.cp_comm == config::ContextComm::a2a_p2p)
    rules.push_back({cp_a2a_size, heads, "a rank's key and value heads, which a2a distributes"});
  if (parallel.sequence)
    rules.push_back({tp_size, sequence / parallel.cp.value,
                     "a rank's part of the sequence, which parallel.sp splits"});
  if (training.lora)
    rules.push_back({tp_size, training.lora->rank, "the rank of the adapters, training.lora.rank"});
  add_expert_rules(model, parallel, rules);
  return rules;
}

// Returns whether the ranks of tp would send the same tokens to the experts, which happens without
// sequence parallelism. Megatron-Core's training rejects such a layout.
bool duplicates_tokens(const config::Model& model, const Parallel& parallel) {
  return model.experts && parallel.tp.value > 1 && !parallel.sequence;
}

// Returns whether a layout with another value of the parallel size `size` solves the problem: it
// breaks no rule on this size and no other rule that the current layout obeys.
bool fixes_layout(const config::Model& model, const config::Training& training,
                  const Parallel& current, const std::vector<DivisorRule>& rules,
                  const LayoutSize& size, const Parallel& changed) {
  const std::vector<DivisorRule> changed_rules = rules_of(model, training, changed);
  for (std::size_t i = 0; i < changed_rules.size(); ++i)
    if (!changed_rules[i].holds(changed) &&
        (changed_rules[i].size == size || rules[i].holds(current)))
      return false;
  return true;
}

}  // namespace

void check_parameters(const config::Model& model) {
  constexpr double tolerance = 0.005;
  const double published = model.published.value;
  const auto derived = static_cast<double>(parameter_count(model));
  if (published <= 0 || std::abs(published / derived - 1) <= tolerance) return;
  throw config::Error(
      model.published.origin,
      fmt::format("model.parameters is {}, but the other keys imply {}, {:.1f} % {}",
                  in_billions(published), in_billions(derived),
                  100 * std::abs(derived / published - 1), derived > published ? "more" : "fewer"))
      .suggest("correct the wrong key, or omit parameters")
      .allow("within 0.5 %");
}

bool layout_fits(const config::Model& model, const config::Training& training,
                 const Parallel& parallel) {
  const auto fits = [&](const Parallel& layout) {
    return !duplicates_tokens(model, layout) &&
           std::ranges::all_of(rules_of(model, training, layout),
                               [&](const DivisorRule& rule) { return rule.holds(layout); });
  };
  if (parallel.tp_by_device.empty()) return fits(parallel);
  for (std::uint32_t device = 0; device < parallel.pp.value; ++device)
    if (!fits(parallel.on(device))) return false;
  return true;
}

Parallel with_size(Parallel parallel, Axis axis, std::uint32_t size) {
  (parallel.*axis_sizes[static_cast<std::size_t>(axis)]).value = size;
  return parallel;
}

void check_layout(const config::Model& model, const config::Training& training,
                  const Parallel& parallel, const LayoutFits& accepts) {
  if (!parallel.tp_by_device.empty()) {
    for (std::uint32_t device = 0; device < parallel.pp.value; ++device)
      check_layout(model, training, parallel.on(device), {});
    return;
  }
  if (duplicates_tokens(model, parallel))
    throw config::Error(
        parallel.tp.origin,
        fmt::format("parallel.tp is {} without parallel.sp, so that all {} ranks would send the "
                    "same tokens to the experts",
                    parallel.tp.value, parallel.tp.value))
        .allow("sp true, or tp 1, as in Megatron-Core");
  const std::vector<DivisorRule> rules = rules_of(model, training, parallel);
  for (const DivisorRule& rule : rules) {
    if (rule.holds(parallel)) continue;
    const Located& size = rule.size.get(parallel);
    if (!model.experts && (rule.size == ep_size || rule.size == etp_size))
      throw config::Error(size.origin, fmt::format("{} is {}, and the model has no experts",
                                                   rule.size.key, size.value))
          .allow("1");
    const auto offers = [&](const LayoutFits& fits) {
      const std::uint64_t limit = rule.allows_multiples ? rule.whole + size.value : rule.whole;
      return nearest(size.value, limit, [&](std::uint32_t candidate) {
        return rule.allows(candidate) && fits(rule.with(parallel, candidate));
      });
    };
    // Offer values that satisfy all rules or, if there are none, those that satisfy the rules on
    // this size; a violation of other rules is reported once this size is corrected.
    const auto satisfies_own_rules = [&](const Parallel& candidate) {
      return std::ranges::all_of(
          rules_of(model, training, candidate), [&](const DivisorRule& candidate_rule) {
            return !(candidate_rule.size == rule.size) || candidate_rule.holds(candidate);
          });
    };
    const auto breaks_no_rule = [&](const Parallel& candidate) {
      return fixes_layout(model, training, parallel, rules, rule.size, candidate);
    };
    std::vector<std::uint32_t> offered = offers([&](const Parallel& candidate) {
      return breaks_no_rule(candidate) && (!accepts || accepts(candidate));
    });
    if (offered.empty()) offered = offers(breaks_no_rule);
    if (offered.empty()) offered = offers(satisfies_own_rules);
    throw config::Error(size.origin,
                        fmt::format("{} is {}, which does not divide {} ({}){}", rule.size.key,
                                    size.value, rule.whole_name, rule.whole,
                                    rule.allows_multiples ? " and is no multiple of it" : ""))
        .allow(fmt::format("a divisor{}, such as {}", rule.allows_multiples ? " or a multiple" : "",
                           fmt::join(offered, " or ")));
  }
}

}  // namespace pipewright::workload
