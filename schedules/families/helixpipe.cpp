#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/families/families.hpp"
#include "schedules/families/programs.hpp"

namespace pipewright::schedules {
namespace {
namespace helical {

struct Sizes {
  std::uint32_t devices = 0;
  std::uint32_t layers_per_device = 0;
  std::uint32_t fold = 0;
  std::uint32_t rounds = 0;
  std::uint32_t round = 0;  // Microbatches of a round: devices x fold.
};

// Writes the forwards of one device in one round. Microbatches j x fold to (j+1) x fold - 1 of a
// round are its group j. The attention of group j after a parameter part of device r runs on device
// r + 1 + j, and the next parameter part on device r + 1.
class RoundWriter {
 public:
  RoundWriter(const Sizes& sizes, std::uint32_t device, std::uint32_t round)
      : sizes_(sizes), device_(device), round_(round) {}

  std::vector<Pass> write() && {
    const bool is_first = round_ == 0;
    const bool is_last = round_ + 1 == sizes_.rounds;
    if (device_ == 0 && is_first) of_group(0, [&](std::uint32_t i) { parameters(0, i); });
    for (std::uint32_t loop = 0; loop < sizes_.layers_per_device; ++loop) {
      attention_of_others(loop, loop == 0 ? device_ : sizes_.devices - 1, 0);
      for (std::uint32_t group = 1; group < sizes_.devices; ++group) run_group(loop, group);
    }
    attention_of_others(sizes_.layers_per_device, sizes_.devices - 1, device_);
    if (device_ == 0 && is_last)
      for (std::uint32_t group = 1; group < sizes_.devices; ++group)
        of_group(group, [&](std::uint32_t i) { loss(i); });
    return std::move(passes_);
  }

 private:
  template <class Run>
  void of_group(std::uint32_t group, const Run& run) {
    const std::uint32_t first = round_ * sizes_.round + group * sizes_.fold;
    for (std::uint32_t i = first; i < first + sizes_.fold; ++i) run(i);
  }

  // Runs the attention of groups `end`-1 to `begin`, after parameter parts of other devices. That
  // of group 0 follows the part of the device before this one, so the parameter part of this device
  // is next; after the last layer it is the loss, and device 0 starts the next round.
  void attention_of_others(std::uint32_t loop, std::uint32_t end, std::uint32_t begin) {
    for (std::uint32_t group = end; group-- > begin;)
      of_group(group, [&](std::uint32_t i) {
        attention(loop * sizes_.devices + device_ - 1 - group, i);
        if (group > 0) return;
        parameters(loop, i);
        if (loop == sizes_.layers_per_device && round_ + 1 < sizes_.rounds)
          parameters(0, i + sizes_.round);
      });
  }

  // Runs the parameter part of a group, whose attention runs on other devices except for the last
  // group. Before that, device 0 computes the loss of the group that this one replaces.
  void run_group(std::uint32_t loop, std::uint32_t group) {
    of_group(group, [&](std::uint32_t i) {
      if (device_ == 0 && loop == 0 && round_ > 0) loss(i - sizes_.round);
      parameters(loop, i);
      if (group + 1 == sizes_.devices) attention(loop * sizes_.devices + device_, i);
    });
  }

  void loss(std::uint32_t microbatch) { parameters(sizes_.layers_per_device, microbatch); }
  void parameters(std::uint32_t loop, std::uint32_t microbatch) {
    add(2 * (loop * sizes_.devices + device_), microbatch);
  }
  void attention(std::uint32_t layer, std::uint32_t microbatch) { add(2 * layer + 1, microbatch); }
  void add(std::uint32_t stage, std::uint32_t microbatch) {
    passes_.push_back({PassKind::forward, static_cast<std::uint16_t>(stage), microbatch});
  }

  const Sizes& sizes_;
  std::uint32_t device_;
  std::uint32_t round_;
  std::vector<Pass> passes_;
};

// Returns the forwards of a device in one round. One device alone runs each microbatch through all
// stages, those of a fold in turn.
std::vector<Pass> forwards(const Sizes& sizes, std::uint32_t device, std::uint32_t round) {
  if (sizes.devices > 1) return RoundWriter(sizes, device, round).write();
  std::vector<Pass> passes;
  for (std::uint32_t stage = 0; stage <= 2 * sizes.layers_per_device; ++stage)
    for (std::uint32_t i = 0; i < sizes.fold; ++i)
      passes.push_back(
          {PassKind::forward, static_cast<std::uint16_t>(stage), round * sizes.fold + i});
  return passes;
}

// Returns the passes of a device: the forwards of all rounds, and then all backwards in the
// opposite order. Rounds between the first and the last are alike.
Program one_device(const Sizes& sizes, std::uint32_t device) {
  Program program;
  const auto step = static_cast<std::int32_t>(sizes.round);
  const std::uint32_t last = sizes.rounds - 1;
  const std::uint32_t middle = last > 1 ? last - 1 : 0;
  const auto backwards = [&](std::uint32_t round) {
    std::vector<Pass> passes = forwards(sizes, device, round);
    std::ranges::reverse(passes);
    for (Pass& pass : passes) pass.kind = PassKind::backward;
    return passes;
  };
  program.repeat(1, 0, forwards(sizes, device, 0));
  if (middle > 0) program.repeat(middle, step, forwards(sizes, device, 1));
  if (last > 0) {
    program.repeat(1, 0, forwards(sizes, device, last));
    program.repeat(1, 0, backwards(last));
  }
  if (middle > 0) program.repeat(middle, -step, backwards(middle));
  program.repeat(1, 0, backwards(0));
  return program;
}

}  // namespace helical
}  // namespace

Routes helix(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t layers = parameters.layers_per_device.value_or(usual_layers_per_device);
  const std::uint32_t fold = parameters.fold.value_or(1);
  const std::uint64_t stages = 2 * std::uint64_t{devices} * layers + 1;
  constexpr std::uint64_t max_stages = std::numeric_limits<std::uint16_t>::max();
  if (stages > max_stages)
    throw Error(
        fmt::format("helixpipe: {} stages, two for each of {} x {} layers and the loss, are "
                    "more than the {} that are supported",
                    stages, devices, layers, max_stages));
  constexpr std::uint64_t max_places = std::uint64_t{1} << 26U;  // Half a gigabyte.
  if (std::uint64_t{devices} * fold > max_places / stages)
    throw Error(
        fmt::format("helixpipe: {} stages on {} devices with fold {} have more than the {} "
                    "places that are supported",
                    stages, devices, fold, max_places));
  return Routes::attention_parallel(devices, layers, fold);
}

// HelixPipe (Zhang et al. 2025, arXiv 2507.00394; attn_pipe_schedule.py of
// code-tunnel/Megatron-LM): layers are divided into the matrices before attention, attention, and
// those after it. Matrices stay on one device, and the attention of different microbatches runs on
// different devices at the same time. All microbatches are in flight before the first backward.
// With `fold` 1 and parts that take F_pre and F_post, the bubble is (p-1) (F_pre + F_post + B_pre +
// B_post), whatever attention takes. A fold of 2 hides transfers behind the other microbatch and
// has up to twice that bubble. A device with v layers then runs 2v passes per microbatch; device 0,
// whose first stage has only the matrices before attention and whose last only those after it, runs
// 2v+1. The authors' code runs the last `fold` backwards of device 0 in ascending order; here, they
// too are first in, last out.
Schedule helixpipe(const Parameters& parameters) {
  Schedule schedule = without_programs("helixpipe", parameters, helix(parameters));
  const std::uint32_t round = schedule.routes.count();
  const std::uint32_t microbatches = parameters.microbatches;
  const helical::Sizes sizes{
      .devices = parameters.devices,
      .layers_per_device = parameters.layers_per_device.value_or(usual_layers_per_device),
      .fold = parameters.fold.value_or(1),
      .rounds = microbatches / round,
      .round = round};
  if (microbatches % round != 0)
    throw Error(fmt::format(
        "helixpipe: microbatches must be a multiple of {} ({} devices x fold {}), not {}; {} work",
        round, sizes.devices, sizes.fold, microbatches, std::max(1U, sizes.rounds) * round));
  // Device 0 has the most stages: its parameter parts and, for some microbatch, each attention.
  schedule.chunks = sizes.layers_per_device * (sizes.devices + 1) + 1;
  return with_programs(std::move(schedule),
                       [&](std::uint32_t device) { return helical::one_device(sizes, device); });
}

}  // namespace pipewright::schedules
