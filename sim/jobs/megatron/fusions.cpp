#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/config/stack.hpp"
#include "sim/config/text/library.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"
#include "sim/jobs/request/draft.hpp"

// Flags that fuse groups of kernels, which a scenario lists as stack.fused.
namespace pipewright::jobs::megatron {
namespace {

using config::Fusable;

// Layers whose kernels a flag is about.
enum class Concerns : std::uint8_t { all, gated, plain, experts, stored_scores };

struct Fusion {
  std::string_view flag;
  Fusable group;
  bool is_fused;  // what the flag means
  Concerns concerns = Concerns::all;
};
constexpr std::array fusions{
    Fusion{"apply_rope_fusion", Fusable::rope, true},
    Fusion{"no_rope_fusion", Fusable::rope, false},
    Fusion{"bias_activation_fusion", Fusable::activation, true},
    Fusion{"bias_swiglu_fusion", Fusable::activation, true, Concerns::gated},
    Fusion{"no_bias_swiglu_fusion", Fusable::activation, false, Concerns::gated},
    Fusion{"bias_gelu_fusion", Fusable::activation, true, Concerns::plain},
    Fusion{"no_bias_gelu_fusion", Fusable::activation, false, Concerns::plain},
    Fusion{"bias_dropout_fusion", Fusable::residual, true},
    Fusion{"bias_dropout_add_fusion", Fusable::residual, true},
    Fusion{"no_bias_dropout_fusion", Fusable::residual, false},
    Fusion{"masked_softmax_fusion", Fusable::softmax, true, Concerns::stored_scores},
    Fusion{"no_masked_softmax_fusion", Fusable::softmax, false, Concerns::stored_scores},
    Fusion{"moe_permute_fusion", Fusable::permutation, true, Concerns::experts},
    Fusion{"moe_router_fusion", Fusable::router, true, Concerns::experts},
};

// Flags with which a launch turns the fusion of a group on or off. Kernels with a flag to turn it
// off are fused by default.
struct Switch {
  Fusable group;
  std::string_view on;
  std::string_view off;
  Concerns concerns = Concerns::all;
};
constexpr std::array switches{
    Switch{Fusable::rope, "apply_rope_fusion", "no_rope_fusion"},
    Switch{Fusable::activation, "bias_activation_fusion", "no_bias_swiglu_fusion", Concerns::gated},
    Switch{Fusable::residual, "bias_dropout_fusion", "no_bias_dropout_fusion"},
    Switch{Fusable::softmax, "masked_softmax_fusion", "no_masked_softmax_fusion",
           Concerns::stored_scores},
    Switch{Fusable::permutation, "moe_permute_fusion", "", Concerns::experts},
    Switch{Fusable::router, "moe_router_fusion", "", Concerns::experts},
};

// Returns whether attention stores its scores, as read_attention_backend() has found.
bool stores_scores(Draft& draft) {
  if (const config::Value* const flash = draft.at("training.flash_attention"))
    return flash->text == "false";
  const config::Value* const stack = draft.at("stack.like");
  return is_older(draft.request()) || (stack != nullptr && stack->text == local_stack);
}

// Returns why a flag has no effect on a model; empty if it has one. The model of a recipe, which
// is known by its name alone, may have all kinds of layers.
std::string_view why_idle(Draft& draft, Concerns concerns) {
  const config::Value* const mlp = draft.known("model.mlp");
  const bool is_gated = mlp != nullptr && mlp->text == "swiglu";
  switch (concerns) {
    case Concerns::gated:
      return mlp != nullptr && !is_gated ? "the MLPs have no gate" : "";
    case Concerns::plain:
      return is_gated ? "the MLPs have a gate" : "";
    case Concerns::experts:
      return may_have_experts(draft) ? "" : "without --num-experts";
    case Concerns::stored_scores:
      return stores_scores(draft) ? "" : "fused attention has a softmax of its own";
    case Concerns::all:
      break;
  }
  return "";
}

// The stack of a launch: that of the scenario if it is one of Megatron's, else the default.
config::Stack stack_of(const config::Scenario& scenario) {
  if (scenario.training.stack.family == "megatron") return scenario.training.stack;
  const config::Value name = config::make_text(std::string(config::default_stack), {});
  return config::read_stack({config::stack_tree({name, "stack"}), "stack"});
}

// The stack as its file in the library describes it; the same stack if it has no such file.
config::Stack usual_stack(const config::Stack& stack) {
  const std::vector<std::string> names = config::library_names("stacks", ".yaml");
  if (std::ranges::find(names, stack.name) == names.end()) return stack;
  const config::Value name = config::make_text(stack.name, {});
  return config::read_stack({config::stack_tree({name, "stack"}), "stack"});
}

}  // namespace

void read_fusions(Draft& draft) {
  for (const Fusion& row : fusions) {
    const Setting* const setting = draft.find(row.flag);
    if (setting == nullptr) continue;
    if (const std::string_view why = why_idle(draft, row.concerns); !why.empty())
      draft.without_effect(*setting, why);
    else
      draft.fuse(row.group, draft.on(row.flag) == row.is_fused, *setting);
  }
  // Flags of the experts are off by default; those of other kernels are on, as in all stacks.
  const Request& request = draft.request();
  if (request.dialect != Dialect::megatron || is_older(request) || !has_experts(draft)) return;
  for (const Switch& row : switches)
    if (row.off.empty() && draft.find(row.on) == nullptr)
      draft.fuse(row.group, false, fmt::format("without {}", flag_of(row.on)));
  const std::uint64_t experts = draft.count_at("model.experts.count", 1);
  const bool is_stated = std::ranges::any_of(
      request.settings, [](const Setting& setting) { return setting.name == "moe_grouped_gemm"; });
  if (!is_stated && experts > draft.count_at("parallel.ep", 1))
    draft.not_modelled_without("moe_grouped_gemm", Changes::time,
                               "experts one after the other, with a launch for each product");
}

void write_fusions(SettingsWriter& writer) {
  const config::Model& model = writer.scenario().model->value;
  const config::Stack stack = stack_of(writer.scenario());
  const config::Stack usual = usual_stack(stack);
  for (const Switch& row : switches) {
    if (row.concerns == Concerns::gated && !model.gated) continue;
    if (row.concerns == Concerns::experts && !model.experts) continue;
    if (row.concerns == Concerns::stored_scores && writer.scenario().training.flash_attention)
      continue;
    const bool fuses = stack.fuses(row.group);
    // Recipes have the defaults of their stack.
    const bool by_default = writer.writes_arguments() ? !row.off.empty() : usual.fuses(row.group);
    if (fuses == by_default) continue;
    if (writer.writes_arguments())
      writer.add(fuses ? row.on : row.off);
    else
      writer.add(row.on, fuses ? "true" : "false");
  }
}

}  // namespace pipewright::jobs::megatron
