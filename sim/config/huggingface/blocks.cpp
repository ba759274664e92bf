#include "sim/config/huggingface/blocks.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace pipewright::config::huggingface {
namespace {

bool is_true(const Value& map, std::string_view key) {
  const Value* const value = find(map, key);
  return value != nullptr && value->text == "true";
}

// Returns a block's part, "attention" or "ffn", or null if the block lacks it. Throws an Error for
// other parts than attention to all keys and MLPs.
const Value* part_of(const Value& block, std::string_view name) {
  const Value* const part = find(block, name);
  if (part == nullptr || is_true(*part, "no_op")) return nullptr;
  for (const std::string_view key : {"replace_with_linear", "sparsify", "window_length"}) {
    const Value* const value = find(*part, key);
    if (value != nullptr && value->text != "false" && value->text != "null" && !value->text.empty())
      throw Error(value->origin, fmt::format("block_configs has a block with {}, which is not "
                                             "modelled",
                                             key))
          .allow("false or null");
  }
  return part;
}

const Value& required(const Value& part, std::string_view key) {
  const Value* const value = find(part, key);
  if (value == nullptr)
    throw Error(part.origin, fmt::format("{} is missing in a block of block_configs", key));
  return *value;
}

// Returns the hidden size of a block's MLP: two thirds of a multiple of the hidden size, rounded up
// to a multiple of 256 (ffn_mult_to_intermediate_size in
// megatron/core/transformer/heterogeneous/heterogeneous_config.py).
std::string ffn_of(const Value& part, std::uint32_t hidden) {
  constexpr std::uint64_t multiple = 256;
  constexpr double largest = 1U << 24U;
  const Value& factor = required(part, "ffn_mult");
  const double scale = read_positive_number({factor, "ffn_mult"}, "a factor");
  const auto size = static_cast<std::uint64_t>(std::min(largest, 2 * scale * hidden / 3));
  return std::to_string((size + multiple - 1) / multiple * multiple);
}

}  // namespace

Layout add_blocks(Config& config, Shape& shape) {
  const Config::Match match = config.find({"block_configs"});
  if (!match)
    throw Error(config.origin(),
                "config.json lacks block_configs, which gives the parts of each layer");
  const std::uint32_t hidden = config.required_number({"hidden_size"}).value;
  const Number heads = config.required_number({"num_attention_heads"});
  std::string pattern;
  std::vector<std::string> sizes;
  std::uint32_t group = 0;
  std::uint32_t empty = 0;
  for (const Field& block :
       items({*match.value, "block_configs"}, "a list of maps with attention and ffn")) {
    const Value* const attention = part_of(block.value, "attention");
    const Value* const ffn = part_of(block.value, "ffn");
    if (attention != nullptr) {
      const Value& in_group = required(*attention, "n_heads_in_group");
      const std::uint32_t of_block = read_count({in_group, "n_heads_in_group"}, "8");
      if (group != 0 && of_block != group)
        throw Error(in_group.origin,
                    "block_configs has blocks with different numbers of heads of "
                    "keys and values, which is not modelled")
            .allow(std::to_string(group));
      group = of_block;
    }
    if (ffn != nullptr) sizes.push_back(ffn_of(*ffn, hidden));
    if (attention != nullptr && ffn != nullptr)
      pattern += "(*-)";
    else if (attention != nullptr)
      pattern += "*";
    else if (ffn != nullptr)
      pattern += "-";
    else
      ++empty;
  }
  if (pattern.empty()) throw Error(match.value->origin, "block_configs has no layers");
  shape.set("pattern", pattern, match.value->origin);
  const bool has_mlps = !sizes.empty();
  if (has_mlps) shape.set_list("ffn_by_layer", sizes, match.value->origin);
  if (group > 0) shape.set("kv_heads", heads.value / group, match.value->origin);
  if (empty > 0)
    shape.note(fmt::format("block_configs: {} layers with neither attention nor an MLP are left "
                           "out, but frameworks count them in the stages of a pipeline",
                           empty),
               match.value->origin);
  config.find({"num_hidden_layers", "num_key_value_heads", "intermediate_size"});
  return {.mlps = has_mlps, .attention = group > 0};
}

}  // namespace pipewright::config::huggingface
