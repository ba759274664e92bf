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

// How a model's layers are dealt out to the stages of a pipeline.
struct Partition {
  enum class Rule : std::uint8_t {
    even,       // as equal as may be, the longer ones first
    ends_less,  // the embedding and the loss count as a layer each, on the first and last stage
    by_cost,    // the least longest stage, with vocabulary and embedding counted
    listed,
    layout,  // as Megatron-LM's --pipeline-model-parallel-layout
    ends,    // so many on the first and the last device, and the others alike
  };
  Rule rule = Rule::even;
  std::vector<std::uint32_t> layers = {};  // of Rule::listed and Rule::layout, per stage
  Origin origin = {};
  std::vector<std::uint32_t> mtp = {};  // of Rule::layout: multi-token prediction, per stage
  std::string text = {};                // of Rule::layout, as it was written
  // Of Rule::ends_less: what counts as a layer.
  bool embedding_counts = true;
  bool loss_counts = true;
  // Of Rule::ends, layers of a device, all of its chunks together; none: as the others.
  std::optional<std::uint32_t> first = {};
  std::optional<std::uint32_t> last = {};
};

// The rules that have a name.
inline constexpr std::array<std::string_view, 3> partition_rules{"even", "ends_less", "by_cost"};

// A rule's name, a list of layers per stage, what the first and the last one have, or a layout: E
// embedding, t a layer of the transformer, m one of multi-token prediction, L the head with its
// loss, in the order of a forward pass; | ends a stage, *n repeats what stands before it, a letter
// or a group in parentheses, and commas are skipped (Megatron-LM,
// megatron/core/transformer/pipeline_parallel_layer_layout.py).
Partition read_partition(const Field& field);
std::vector<KeyRow> partition_keys();  // of the map

// "ends_less", "listed", "first 3 last 2", or the layout.
std::string to_string(const Partition& partition);

}  // namespace pipewright::config
