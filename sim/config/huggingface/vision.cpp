#include "sim/config/huggingface/vision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/huggingface/unread.hpp"

namespace pipewright::config::huggingface {
namespace {

// Keys under which the config of a vision model holds that of its encoder.
constexpr std::array<std::string_view, 3> vision_parts{"vision_config", "vit_config",
                                                       "vision_tower_config"};

// Learned positions of patches: none; as many as a key says; a grid of two keys; those of an image
// of image_size, with one for the class where the encoder has such a token; or a table for each of
// two dimensions.
enum class Positions : std::uint8_t { none, number, grid, image, image_and_class, two_tables };

// Kind of projector: an MLP as wide as the patches of a token (merger), as wide as the language
// model (text), as wide as a key says (shuffle), or a single matrix behind a mean of the patches.
enum class ProjectorKind : std::uint8_t { merger, text, shuffle, average };

// Properties that encoders of one kind share: fixed choices of modeling_*.py, and defaults of
// configuration_*.py in transformers or in the model's repository.
struct VisionFamily {
  std::string_view type;   // start of the model_type
  std::string_view owner;  // start of the whole model's model_type; empty: any
  bool gated = false;
  bool rmsnorm = false;
  bool post_norms = false;
  bool qk_norm = false;
  std::string_view biases = "true";
  bool rotary = false;
  Positions positions = Positions::none;
  ProjectorKind projector = ProjectorKind::merger;
  std::uint32_t layers = 27;
  std::uint32_t hidden = 1152;
  std::uint32_t heads = 16;
  std::uint32_t ffn = 4304;
  std::uint32_t patch = 14;
  std::uint32_t image = 0;
  std::uint32_t frames = 1;
};

constexpr std::array vision_families{
    VisionFamily{.type = "qwen2_5_vl",
                 .owner = "",
                 .gated = true,
                 .rmsnorm = true,
                 .rotary = true,
                 .layers = 32,
                 .hidden = 3584,
                 .ffn = 3420,
                 .frames = 2},
    VisionFamily{.type = "qwen2_vl",
                 .owner = "",
                 .rotary = true,
                 .layers = 32,
                 .hidden = 1280,
                 .ffn = 5120,
                 .frames = 2},
    VisionFamily{.type = "qwen3_",
                 .owner = "",
                 .rotary = true,
                 .positions = Positions::number,
                 .patch = 16,
                 .frames = 2},
    VisionFamily{.type = "siglip_vision_model",
                 .owner = "gemma3",
                 .positions = Positions::image,
                 .projector = ProjectorKind::average,
                 .layers = 12,
                 .hidden = 768,
                 .heads = 12,
                 .ffn = 3072,
                 .patch = 16,
                 .image = 224},
    VisionFamily{.type = "gemma4_vision",
                 .owner = "",
                 .gated = true,
                 .rmsnorm = true,
                 .post_norms = true,
                 .qk_norm = true,
                 .biases = "false",
                 .rotary = true,
                 .positions = Positions::two_tables,
                 .projector = ProjectorKind::average,
                 .layers = 16,
                 .hidden = 768,
                 .heads = 12,
                 .ffn = 3072,
                 .patch = 16},
    VisionFamily{.type = "llama4_vision_model",
                 .owner = "",
                 .rotary = true,
                 .positions = Positions::image_and_class,
                 .projector = ProjectorKind::shuffle,
                 .layers = 34,
                 .hidden = 768,
                 .ffn = 5632,
                 .image = 448},
    VisionFamily{.type = "intern",
                 .owner = "",
                 .positions = Positions::image_and_class,
                 .projector = ProjectorKind::text,
                 .layers = 24,
                 .hidden = 1024,
                 .ffn = 4096,
                 .image = 448},
    VisionFamily{.type = "kimi", .owner = "", .rotary = true, .positions = Positions::grid},
    VisionFamily{.type = "moonvit", .owner = "", .rotary = true, .positions = Positions::grid},
    VisionFamily{.type = "pixtral",
                 .owner = "mistral3",
                 .gated = true,
                 .rmsnorm = true,
                 .biases = "false",
                 .rotary = true,
                 .projector = ProjectorKind::text,
                 .layers = 24,
                 .hidden = 1024,
                 .ffn = 4096}};

std::string text_at(const Value& map, std::string_view key) {
  const Value* const value = find(map, key);
  return value != nullptr && value->kind == Value::Kind::text ? value->text : "";
}

const VisionFamily* vision_family(const std::string& type, const std::string& owner) {
  const auto* const family = std::ranges::find_if(vision_families, [&](const VisionFamily& row) {
    return type.starts_with(row.type) && owner.starts_with(row.owner);
  });
  return family == vision_families.end() ? nullptr : family;
}

// Reads a ratio such as 0.5 as its inverse; a default value of 0.5 applies without the key.
std::uint32_t inverse(const Config::Match& match) {
  if (!match) return 2;
  const double ratio = read_positive_number({*match.value, std::string(match.key)}, "a ratio");
  return std::max(1U, static_cast<std::uint32_t>(std::lround(1 / ratio)));
}

// Sets the learned positions of patches.
void add_positions(Config& part, const VisionFamily& family, std::uint32_t patch, Shape& shape) {
  const std::uint32_t image = part.number({"image_size"}, family.image).value;
  const std::uint32_t side = patch > 0 ? image / patch : 0;
  std::uint32_t positions = 0;
  switch (family.positions) {
    case Positions::none:
      break;
    case Positions::number:
      positions = part.number({"num_position_embeddings"}, 2304).value;
      break;
    case Positions::grid:
      positions = part.number({"init_pos_emb_height"}, 64).value *
                  part.number({"init_pos_emb_width"}, 64).value;
      break;
    case Positions::image:
      positions = side * side;
      break;
    case Positions::image_and_class:
      positions = side * side + 1;
      break;
    case Positions::two_tables:
      positions = 2 * part.number({"position_embedding_size"}, 10'240).value;
      break;
  }
  if (positions > 0) shape.set("positions", positions, part.origin());
}

// Sets the windows of Qwen2.5-VL, in pixels in the config, and the layers that have none.
void add_windows(Config& part, const VisionFamily& family, std::uint32_t patch, Shape& shape) {
  if (family.type != "qwen2_5_vl") return;
  const std::uint32_t side = part.number({"window_size"}, 112).value / std::max(1U, patch);
  if (side == 0) return;
  shape.set("window", side * side, part.origin());
  const auto full = part.list({"fullatt_block_indexes"}, 0);
  const std::uint32_t layers = part.number({"depth"}, family.layers).value;
  const std::size_t count = full ? full->value.size() : 4;
  if (count > 0 && layers >= count)
    shape.set("full_attention_every", layers / static_cast<std::uint32_t>(count), part.origin());
}

void add_projector(Config& part, Config& outer, const VisionFamily& family, std::uint32_t hidden,
                   std::uint32_t patch, std::uint32_t text_hidden, Shape& shape) {
  std::uint32_t merge = 2;
  std::uint32_t ffn = 0;
  switch (family.projector) {
    case ProjectorKind::merger: {
      merge = part.number({"spatial_merge_size", "merge_kernel_size"}, 2).value;
      ffn = hidden * merge * merge;
      const auto deep = part.list({"deepstack_visual_indexes"}, 0);
      const std::size_t count = deep ? deep->value.size() : 0;
      shape.set("projector.count", static_cast<std::uint32_t>(1 + count), part.origin());
      break;
    }
    case ProjectorKind::text: {
      const auto size = outer.number({"spatial_merge_size"});
      merge = size ? size->value : inverse(outer.find({"downsample_ratio"}));
      ffn = text_hidden;
      break;
    }
    case ProjectorKind::shuffle:
      merge = inverse(part.find({"pixel_shuffle_ratio"}));
      ffn = part.number({"projector_input_dim"}, 4096).value;
      part.find({"projector_output_dim", "vision_output_dim"});
      break;
    case ProjectorKind::average: {
      const std::uint32_t side = part.number({"image_size"}, family.image).value / patch;
      const auto tokens = outer.number({"mm_tokens_per_image"});
      merge = tokens && tokens->value > 0
                  ? static_cast<std::uint32_t>(std::lround(side / std::sqrt(tokens->value)))
                  : part.number({"pooling_kernel_size"}, side > 0 ? side / 16 : 3).value;
      shape.set("projector.averages", "true", part.origin());
      break;
    }
  }
  shape.set("projector.merge", std::max(1U, merge), part.origin());
  shape.set("projector.ffn", ffn, part.origin());
}

Value vision_map(Config part, Config outer, const VisionFamily& family, std::uint32_t text_hidden) {
  Shape shape(part.origin());
  const bool has_own_width = family.type == "qwen2_vl";  // hidden_size is that of the results
  const Number hidden = has_own_width
                            ? part.number({"embed_dim"}, family.hidden)
                            : part.number({"hidden_size", "vt_hidden_size"}, family.hidden);
  const Number heads =
      part.number({"num_heads", "num_attention_heads", "vt_num_attention_heads"}, family.heads);
  shape.set("layers",
            part.number({"depth", "num_hidden_layers", "vt_num_hidden_layers"}, family.layers));
  shape.set("hidden", hidden);
  shape.set("heads", heads);
  if (const auto size = part.number({"head_dim"})) shape.set("head_dim", *size);
  if (const auto size = part.number({"qkv_hidden_size"}); size && heads.value > 0)
    shape.set("head_dim", size->value / heads.value, size->origin);
  if (has_own_width)
    shape.set("ffn", hidden.value * part.number({"mlp_ratio"}, 4).value, hidden.origin);
  else
    shape.set("ffn", part.number({"intermediate_size", "vt_intermediate_size"}, family.ffn));
  const Number patch = part.number({"patch_size"}, family.patch);
  shape.set("patch_size", patch);
  shape.set("temporal_patch_size", part.number({"temporal_patch_size"}, family.frames));
  shape.set("channels", part.number({"in_channels", "in_chans", "num_channels"}, 3));
  shape.set("mlp", family.gated ? "swiglu" : "gelu", part.origin());
  const std::string norm = text_at(part.text(), "norm_type");
  const bool rmsnorm = norm.empty() ? family.rmsnorm : norm.starts_with("rms");
  shape.set("norm", rmsnorm ? "rmsnorm" : "layernorm", part.origin());
  if (family.post_norms) shape.set("post_norms", "true", part.origin());
  if (part.flag({"use_qk_norm", "qk_normalization"}, family.qk_norm))
    shape.set("qk_layernorm", "true", part.origin());
  shape.set("biases", std::string(family.biases), part.origin());
  if (family.rotary) shape.set("rotary", "true", part.origin());
  add_positions(part, family, patch.value, shape);
  add_windows(part, family, patch.value, shape);
  add_projector(part, outer, family, hidden.value, std::max(1U, patch.value), text_hidden, shape);
  // Marks keys as read whose values follow from others: the size of the results, and the number of
  // heads of keys and values, which is that of queries.
  part.find({"out_hidden_size", "hidden_size", "num_key_value_heads", "spatial_patch_size",
             "init_pos_emb_time", "mm_hidden_size", "text_hidden_size", "num_positions",
             "global_head_dim"});
  // Also marks keys of things that take no time: biases of products, the kernel of attention, and
  // the kind of positions.
  part.find({"attention_bias", "qkv_bias", "use_flash_attn", "use_absolute_position_embeddings"});
  check_unread(part);
  return std::move(shape).take();
}

}  // namespace

void add_vision(const Config& config, std::uint32_t text_hidden, Shape& shape) {
  for (const std::string_view key : vision_parts) {
    const Value* const part = find(config.whole(), key);
    if (part == nullptr || part->kind != Value::Kind::map) continue;
    const std::string owner = text_at(config.whole(), "model_type");
    const std::string own_type = text_at(*part, "model_type");
    const std::string& type = own_type.empty() ? owner : own_type;
    const VisionFamily* const family = vision_family(type, owner);
    const auto leave_out = [&](std::string_view reason) {
      shape.note(fmt::format("{}: left out, since {}; modules.vision.model can give an encoder of "
                             "images",
                             key, reason),
                 part->origin);
    };
    if (family == nullptr) {
      leave_out(fmt::format("an encoder of type {} is not known", in_quotes(type)));
      continue;
    }
    try {
      shape.set("vision", vision_map({config.whole(), *part}, {config.whole(), config.whole()},
                                     *family, text_hidden));
      shape.note(fmt::format("{}: a run has the encoder of images only with modules.vision, which "
                             "gives the patches of the images",
                             key),
                 part->origin);
    } catch (const Error& error) {
      leave_out(error.found());
    }
  }
}

}  // namespace pipewright::config::huggingface
