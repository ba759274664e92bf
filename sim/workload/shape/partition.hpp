#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/model.hpp"
#include "sim/config/partition.hpp"

namespace pipewright::workload {

// Range of consecutive layers of the model: [first, first + count).
struct LayerRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  bool operator==(const LayerRange&) const = default;
};

// Parts of the model that a virtual stage holds.
struct StageParts {
  LayerRange layers;
  std::uint32_t mtp = 0;  // multi-token prediction modules
  bool embedding = false;
  bool encoder = false;  // the encoder of images, if the model has images
  bool head = false;     // final norm, output matrix and loss
  // True if the stage has a copy of an embedding that lives on another device, for a head that is
  // tied to it or for multi-token prediction.
  bool embedding_copy = false;
  bool receives = false;  // the forward input comes from another device
  bool sends = false;     // the forward output goes to another device
  // True if embedding and head are the device's parts of a split vocabulary, which S and T compute.
  bool splits_vocabulary = false;

  // Return the parts that F and the passes of its gradients compute, and those that S and T do.
  StageParts of_layers() const {
    StageParts parts = *this;
    if (splits_vocabulary) parts.embedding = parts.head = false;
    return parts;
  }
  StageParts of_vocabulary() const {
    return {.layers = {layers.first, 0}, .embedding = embedding, .head = head};
  }

  // Returns whether microbatches enter the model here.
  bool is_first() const { return !receives && layers.first == 0; }
};

// Function that returns the seconds of a stage with the given layers, including the embedding and
// the loss if the stage has them.
using StageSeconds = std::function<double(std::uint32_t stage, LayerRange layers)>;

// Returns whether a partition rule (or list) can divide the model's layers among `stages` stages.
// Only the first stage, which has the embedding, and the last, which has the head, may be left
// without layers; in a pipeline layout any stage may be empty.
bool can_deal_out(const config::Partition& partition, const config::Model& model,
                  std::uint32_t devices, std::uint32_t stages);
// Returns the names of the other partition rules that can divide the layers among these stages.
std::vector<std::string_view> other_partitions(const config::Partition& partition,
                                               const config::Model& model, std::uint32_t stages);
// Returns what a partition rule requires, as a clause of an error message.
std::string partition_requirement(const config::Partition& partition);

// Returns the parts of the model in virtual stage `stage`, regardless of where its neighbours are.
// The first stage has the embedding; the last has the head and the multi-token prediction modules,
// unless a pipeline layout places those.
StageParts stage_with(const config::Model& model, const config::Partition& partition,
                      std::uint32_t stages, std::uint32_t stage, LayerRange layers);

// Divides the model's layers among the stages, in order; device_of[stage] is the device of a stage.
// Only Rule::by_cost calls `seconds`. Throws config::Error at the location of the partition, with
// both numbers and the nearest that would work.
std::vector<StageParts> partition_stages(const config::Model& model,
                                         const config::Partition& partition,
                                         const std::vector<std::uint32_t>& device_of,
                                         const StageSeconds& seconds);

}  // namespace pipewright::workload
