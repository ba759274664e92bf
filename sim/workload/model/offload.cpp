#include "sim/workload/model/offload.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {

Offloaded offloaded(const ModelSetting& setting, const StageParts& stage) {
  if (!setting.training.offload) return {};
  const config::Offload& offload = *setting.training.offload;
  // The first layers of a stage are offloaded, as they wait the longest for their backward pass.
  const std::uint32_t layers =
      std::min(offload.layers.value_or(stage.layers.count), stage.layers.count);
  Offloaded offloaded_bytes;
  double largest = 0;
  const auto add = [&](const ActivationBytes& layer) {
    const double bytes = offload.share * (offload.modules.any() ? layer.movable : layer.held);
    offloaded_bytes.bytes += bytes;
    largest = std::max(largest, bytes);
  };
  for (std::uint32_t index = 0; index < layers; ++index)
    add(layer_bytes(setting, stage.layers, stage.layers.first + index));
  // A configured number of layers does not include multi-token prediction modules; without one,
  // they are offloaded, too.
  if (!offload.layers)
    for (std::uint32_t module = 0; module < stage.mtp; ++module)
      add(layer_bytes(setting_of_mtp(setting), kind_of_mtp(setting.model)));
  // Tensors on their way to or from the host use the memory of the layers that stay on the GPU:
  // these are empty while the first layers run forward, and free again when those run backward
  // (transformer_engine/pytorch/cpu_offload.py, DefaultOffloadSynchronizer).
  double staying = 0;
  for (std::uint32_t index = layers; index < stage.layers.count; ++index)
    staying += layer_bytes(setting, stage.layers, stage.layers.first + index).held;
  offloaded_bytes.buffers = std::max(std::min(offloaded_bytes.bytes, 2 * largest) - staying, 0.0);
  return offloaded_bytes;
}

double copy_seconds(const std::optional<double>& bandwidth, std::string_view section,
                    const config::Gpu& gpu, double bytes) {
  if (bytes <= 0) return 0;
  const double rate = bandwidth.value_or(gpu.host_bandwidth);
  if (rate <= 0)
    throw config::Error(fmt::format("{} needs the bandwidth between a GPU and its host's memory, "
                                    "which the file of the GPU '{}' does not have",
                                    section, gpu.name))
        .suggest(fmt::format("give {}.bandwidth, such as 55 GB/s", section));
  return bytes / rate;
}

}  // namespace pipewright::workload
