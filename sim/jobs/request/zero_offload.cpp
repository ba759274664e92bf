#include "sim/jobs/request/zero_offload.hpp"

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::jobs {
namespace {

// First of the settings that is present and not off; null without one.
const Setting* first_on(Draft& draft, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const Setting* const setting = draft.find(name); setting != nullptr && draft.on(name))
      return setting;
  return nullptr;
}

void report_drives(Draft& draft, const Setting& device, std::string_view slowed) {
  if (device.values.empty() || device.values.front() != "nvme") return;
  draft.not_modelled(device, Changes::time,
                     fmt::format("reads and writes of drives would slow {}; host memory is "
                                 "predicted instead",
                                 slowed));
}

void report_pageable(Draft& draft, std::string_view pin) {
  if (const Setting* const setting = draft.find(pin); setting != nullptr && !draft.on(pin))
    draft.not_modelled(*setting, Changes::time,
                       "copies from and to pageable memory are slower, and pinned memory is "
                       "predicted");
}

void drop_all(Draft& draft) {
  for (const Flag& flag : zero_offload_flags)
    if (const Setting* const setting = draft.find(flag.name); setting != nullptr)
      draft.without_effect(*setting, "nothing is offloaded");
}

}  // namespace

void read_zero_offload(Draft& draft) {
  const std::uint64_t stage = draft.count_at("parallel.zero", 0);
  const Setting* const optimizer = first_on(
      draft, {"zero_optimization.offload_optimizer.device", "zero_optimization.cpu_offload"});
  const Setting* const weights = first_on(
      draft, {"zero_optimization.offload_param.device", "zero_optimization.cpu_offload_params",
              "zero_optimization.cpu_offload_param"});
  constexpr std::uint64_t all_sharded = 3;
  const bool moves_weights = weights != nullptr && stage == all_sharded;
  if (weights != nullptr && !moves_weights)
    draft.not_understood(*weights,
                         "DeepSpeed offloads parameters only with ZeRO-3; they are predicted on "
                         "the GPU");
  if (optimizer == nullptr) {
    if (moves_weights)
      return draft.not_understood(
          *weights,
          "shards of weights would be on the host, 2 bytes a parameter less on the GPU, and be "
          "copied up for each gather; without offload_optimizer they are predicted on the GPU");
    return drop_all(draft);
  }
  const Setting* const ratio_setting = draft.find("zero_optimization.offload_optimizer.ratio");
  const double ratio =
      stage == all_sharded ? draft.fraction("zero_optimization.offload_optimizer.ratio", 1) : 1;
  if (ratio == 0) return drop_all(draft);
  draft.set("training.optimizer.offload.fraction", fmt::format("{}", ratio),
            ratio_setting != nullptr ? *ratio_setting : *optimizer);
  if (stage >= 2) draft.set("training.optimizer.offload.gradients", "true", *optimizer);
  if (moves_weights) draft.set("training.optimizer.offload.weights", "true", *weights);
  report_drives(draft, *optimizer, "the step of the optimizer");
  if (moves_weights) report_drives(draft, *weights, "each pass that gathers weights");
  report_pageable(draft, "zero_optimization.offload_optimizer.pin_memory");
  if (moves_weights) report_pageable(draft, "zero_optimization.offload_param.pin_memory");
}

}  // namespace pipewright::jobs
