#include "sim/config/huggingface/missing.hpp"

#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/huggingface/unread.hpp"

namespace pipewright::config::huggingface {
namespace {

struct MissingPart {
  std::string_view key;
  std::string_view part;
};
constexpr std::array missing_table{
    MissingPart{"attn_res_block_size", "attention residuals"},
    MissingPart{"block_configs", "layers of different sizes"},
    MissingPart{"compress_ratios", "compressed attention"},
    MissingPart{"hc_mult", "hyper-connections"},
    MissingPart{"hidden_size_per_layer_input", "embeddings for each layer"},
    MissingPart{"index_topk", "sparse attention"},
    MissingPart{"mla_use_output_gate", "an output gate of latent attention"},
    MissingPart{"num_hash_layers", "routing by hashes"},
    MissingPart{"num_kv_shared_layers", "keys and values that layers share"},
    MissingPart{"o_lora_rank", "an output projection of low rank"},
    MissingPart{"sparse_attention_config", "sparse attention"},
    MissingPart{"use_cla", "keys and values that layers share"},
};

// Calls add(entry, part) for each part of the table that the config has.
template <class Add>
void for_missing(const Config& config, const Add& add) {
  for (const MissingPart& part : missing_table) {
    const Value* const value = find(config.text(), part.key);
    if (value != nullptr && !is_off(*value) && !config.was_read(part.key)) add(*value, part);
  }
}

}  // namespace

std::string missing_parts(const Config& config) {
  std::vector<std::string> parts;
  for_missing(config, [&](const Value&, const MissingPart& part) {
    parts.push_back(fmt::format("{} ({})", part.part, part.key));
  });
  return fmt::format("{}", fmt::join(parts, ", "));
}

void check_missing(const Config& config) {
  for_missing(config, [&](const Value& value, const MissingPart&) {
    throw Error(value.origin, fmt::format("config.json has parts that are not modelled: {}",
                                          missing_parts(config)))
        .allow("a model file of your own keys (pipewright help scenario)");
  });
}

}  // namespace pipewright::config::huggingface
