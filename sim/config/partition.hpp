#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Distribution of a model's layers over the stages of a pipeline.
struct Partition {
  enum class Rule : std::uint8_t {
    even,        // as equal as possible, longer stages first
    ends_less,   // embedding and loss count as layers of the first and last stage
    by_cost,     // minimizes the longest stage, including embedding and vocabulary
    by_weights,  // stages take layers until they exceed their share of the weights
    listed,      // layers per stage
    layout,      // Megatron-LM's --pipeline-model-parallel-layout
    ends,        // given numbers on the first and last device, the rest equally
  };
  Rule rule = Rule::even;
  std::vector<std::uint32_t> layers = {};  // per stage; used by listed and layout
  Origin origin = {};
  std::vector<std::uint32_t> mtp = {};  // multi-token prediction per stage; used by layout
  std::string text = {};                // the layout as it was written
  // Used by Rule::ends_less: whether embedding and loss each count as a layer.
  bool embedding_counts = true;
  bool loss_counts = true;
  // Used by Rule::ends: layers of the first and last device, all chunks together. No value: as many
  // as the devices in between.
  std::optional<std::uint32_t> first = {};
  std::optional<std::uint32_t> last = {};
  // The first stage has no layer, since its device is that of an encoder of images
  // (modules.vision.placement).
  bool own_encoder = false;
};

// Names of the rules that a scenario can select by name.
inline constexpr std::array<std::string_view, 4> partition_rules{"even", "ends_less", "by_cost",
                                                                 "by_weights"};

// Reads the name of a rule, a list of layers per stage, a map of the ends, or a layout. A layout
// lists layers in the order of a forward pass: E embedding, t transformer layer, m multi-token
// prediction, L head and loss. | ends a stage, *n repeats the letter or the group in parentheses
// before it, and commas are skipped (Megatron-LM,
// megatron/core/transformer/pipeline_parallel_layer_layout.py).
Partition read_partition(const Field& field);
std::vector<KeyRow> partition_keys();  // keys of the map

// Describes a partition: "ends_less", "listed", "first 3 last 2", or the layout.
std::string to_string(const Partition& partition);

}  // namespace pipewright::config
