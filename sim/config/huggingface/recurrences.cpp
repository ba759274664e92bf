#include "sim/config/huggingface/recurrences.hpp"

#include <fmt/format.h>

#include "sim/config/huggingface/unread.hpp"

namespace pipewright::config::huggingface {
namespace {

// Reads a number that may be the text "auto" instead, which gives no value.
std::optional<Number> number_or_auto(Config& config, Names names) {
  const Config::Match match = config.find(names);
  const bool is_auto =
      match && match.value->kind == Value::Kind::text && match.value->text == "auto";
  return is_auto ? std::nullopt : config.number(names);
}

// Adds the sizes of Kimi delta attention, which are in a map of their own. The products for decays
// and gates have the rank of a head (KimiDeltaAttention in the model's modeling_kimi.py).
void add_kimi_delta(Config& config, Shape& shape) {
  Config inner = config.part("linear_attn_config");
  const Number heads = inner.required_number({"num_heads"});
  const Number head_dim = inner.required_number({"head_dim"});
  shape.set("linear_attention.key_heads", heads);
  shape.set("linear_attention.value_heads", heads);
  shape.set("linear_attention.key_head_dim", head_dim);
  shape.set("linear_attention.value_head_dim", head_dim);
  shape.set("linear_attention.conv", inner.number({"short_conv_kernel_size"}));
  shape.set("linear_attention.decay_rank", head_dim);
  if (!inner.flag({"use_full_rank_gate"}, false)) shape.set("linear_attention.gate_rank", head_dim);
  inner.find({"full_attn_layers", "kda_layers"});
  check_unread(inner);
}

void add_delta(Config& config, Shape& shape) {
  shape.set("linear_attention.key_heads", config.required_number({"linear_num_key_heads"}));
  shape.set("linear_attention.value_heads", config.required_number({"linear_num_value_heads"}));
  shape.set("linear_attention.key_head_dim", config.number({"linear_key_head_dim"}));
  shape.set("linear_attention.value_head_dim", config.number({"linear_value_head_dim"}));
  shape.set("linear_attention.conv", config.number({"linear_conv_kernel_dim"}));
}

// Adds the sizes of Mamba-1. Each channel is a head of its own. Its ranks of steps are those of
// JambaConfig.
void add_mamba_1(Config& config, Shape& shape) {
  const Number hidden = config.required_number({"hidden_size"});
  const Number expand = config.number({"mamba_expand"}, 2);
  const auto rank = number_or_auto(config, {"mamba_dt_rank"});
  shape.set("mamba.heads", std::to_string(std::uint64_t{expand.value} * hidden.value),
            expand.origin);
  shape.set("mamba.head_dim", 1, expand.origin);
  shape.set("mamba.groups", 1, expand.origin);
  shape.set("mamba.state", config.number({"mamba_d_state"}, 16));
  shape.set("mamba.conv", config.number({"mamba_d_conv"}));
  shape.set("mamba.step_rank", rank.value_or(Number{(hidden.value + 15) / 16, hidden.origin}));
}

void add_mamba_2(Config& config, const Family& family, const Layout& layout, Shape& shape) {
  const Number heads = config.required_number({"mamba_num_heads", "mamba_n_heads", "num_heads"});
  shape.set("mamba.heads", heads);
  auto head_dim = layout.attention ? number_or_auto(config, {"mamba_head_dim", "mamba_d_head"})
                                   : config.number({"mamba_head_dim", "head_dim"});
  // The width of all heads is given in place of the size of one: mamba_d_ssm, or mamba_expand
  // times hidden_size.
  const auto width = config.number({"mamba_d_ssm"});
  const auto expand = config.number({"mamba_expand"});
  if (!head_dim && (width || expand) && heads.value > 0) {
    const std::uint64_t values =
        width ? width->value
              : std::uint64_t{expand->value} * config.required_number({"hidden_size"}).value;
    shape.set("mamba.head_dim", std::to_string(values / heads.value),
              width ? width->origin : expand->origin);
  }
  shape.set("mamba.head_dim", head_dim);
  shape.set("mamba.groups", config.required_number({"n_groups", "mamba_n_groups"}));
  shape.set("mamba.state", config.number({"ssm_state_size", "mamba_d_state", "state_size"}));
  shape.set("mamba.conv", config.number({"conv_kernel", "mamba_d_conv"}));
  if (!config.flag({"mamba_rms_norm"}, family.mamba_norm))
    shape.set("mamba.norm", "false", heads.origin);
}

void add_convolution(Config& config, Shape& shape) {
  shape.set("short_convolution.channels", config.number({"conv_dim"}));
  shape.set("short_convolution.width", config.required_number({"conv_L_cache"}));
  if (config.flag({"conv_bias"}, false))
    shape.set("short_convolution.bias", "true", config.origin());
}

}  // namespace

void add_recurrences(Config& config, const Family& family, const Layout& layout, Shape& shape) {
  if (layout.linear && family.layers == Family::Layers::kimi)
    add_kimi_delta(config, shape);
  else if (layout.linear)
    add_delta(config, shape);
  if (layout.mamba && family.mamba_1)
    add_mamba_1(config, shape);
  else if (layout.mamba)
    add_mamba_2(config, family, layout, shape);
  if (layout.convolutions) add_convolution(config, shape);
}

}  // namespace pipewright::config::huggingface
