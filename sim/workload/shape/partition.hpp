#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/model.hpp"
#include "sim/config/partition.hpp"

namespace pipewright::workload {

// Layers [first, first + count) of the model.
struct LayerRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  bool operator==(const LayerRange&) const = default;
};

// What a virtual stage is made of.
struct StageParts {
  LayerRange layers;
  std::uint32_t mtp = 0;  // modules of multi-token prediction
  bool embedding = false;
  bool head = false;  // the last norm, the output matrix and the loss
  // Of an embedding that is on another device: a head is tied to it, or tokens to come need it.
  bool embedding_copy = false;
  bool receives = false;  // a boundary tensor from another device, forward
  bool sends = false;     // one to another device
};

// Seconds of a stage with those layers, embedding and loss included where it has them.
using StageSeconds = std::function<double(std::uint32_t stage, LayerRange layers)>;

// Whether a rule (or a list) deals so many layers out to so many stages, and leaves only the first
// and the last without any: they have the embedding and the output layer. A layout may leave any.
bool can_deal_out(const config::Partition& partition, std::uint32_t layers, std::uint32_t devices,
                  std::uint32_t stages);
// The other rules that do, by name; and what a rule asks for, as part of a sentence.
std::vector<std::string_view> other_partitions(const config::Partition& partition,
                                               std::uint32_t layers, std::uint32_t stages);
std::string what_it_needs(const config::Partition& partition);

// A virtual stage of those layers, wherever its neighbours are: the first one has the embedding and
// the last one the head, and what a layout does not place of multi-token prediction.
StageParts stage_with(const config::Model& model, const config::Partition& partition,
                      std::uint32_t stages, std::uint32_t stage, LayerRange layers);

// Deals the layers out to the stages, in order, whose devices are `device_of`. `seconds` is asked
// by Rule::by_cost alone. Throws config::Error at the partition's place, with both numbers and the
// nearest that would do.
std::vector<StageParts> partition_stages(const config::Model& model,
                                         const config::Partition& partition,
                                         const std::vector<std::uint32_t>& device_of,
                                         const StageSeconds& seconds);

}  // namespace pipewright::workload
