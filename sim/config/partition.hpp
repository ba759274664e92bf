#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// How a model's layers are dealt out to the stages of a pipeline.
struct Partition {
  enum class Rule : std::uint8_t {
    even,       // as equal as may be, the longer ones first
    ends_less,  // one layer fewer on the first and the last stage
    by_cost,    // the least longest stage, with vocabulary and embedding counted
    listed,
    layout,  // as Megatron-LM's --pipeline-model-parallel-layout
  };
  Rule rule = Rule::even;
  std::vector<std::uint32_t> layers = {};  // of Rule::listed and Rule::layout, per stage
  Origin origin = {};
  std::vector<std::uint32_t> mtp = {};  // of Rule::layout: multi-token prediction, per stage
  std::string text = {};                // of Rule::layout, as it was written
};

// The rules that have a name.
inline constexpr std::array<std::string_view, 3> partition_rules{"even", "ends_less", "by_cost"};

// A rule's name, a list of layers per stage, or a layout: E embedding, t a layer of the
// transformer, m one of multi-token prediction, L the head with its loss, in the order of a forward
// pass; | ends a stage, *n repeats what stands before it, a letter or a group in parentheses, and
// commas are skipped (Megatron-LM, megatron/core/transformer/pipeline_parallel_layer_layout.py).
Partition read_partition(const Field& field);

// "ends_less", "listed", or the layout.
std::string to_string(const Partition& partition);

}  // namespace pipewright::config
