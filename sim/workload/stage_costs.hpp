#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schedules/costs.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::workload {

// What one microbatch takes on one GPU of a stage, in bytes.
struct Activations {
  std::uint64_t held = 0;                    // from the start of F
  std::uint64_t released_by_input_grad = 0;  // at the end of I; W (or B) releases what is left
  std::uint64_t made_by_input_grad = 0;      // from the end of I to that of W: gradients for W
  std::uint64_t logits = 0;   // of the stage with the vocabulary: from F to the end of B or I
  std::uint64_t working = 0;  // while B or I runs: what full recomputation of a layer makes anew

  bool operator==(const Activations&) const = default;
};

// What one GPU of a device holds whatever happens, in bytes.
struct DeviceState {
  std::uint64_t weights = 0;  // of one version
  std::uint64_t gradients = 0;
  std::uint64_t optimizer = 0;
  std::uint64_t buffers = 0;    // of transfers and collectives
  std::uint64_t allowance = 0;  // reserved by the driver, or lost to fragmentation

  bool operator==(const DeviceState&) const = default;
};

// What a schedule's passes cost, on each of the GPUs that make a device.
struct StageCosts {
  // Seconds of passes. Of a model a pass takes its kernels, and what is longer: by how much the
  // host takes longer to launch them, or, once a cluster has timed the calls of `traffic`, by how
  // much collectives take longer than what hides them. While a GPU waits for its host, its
  // collectives go on. Where collectives are simulated one by one, they are not in `times`.
  schedules::PassTimes times;
  using ByKindAndStage = std::array<std::vector<double>, schedules::pass_kinds>;  // empty: none
  ByKindAndStage host_waits;
  ByKindAndStage collective_waits;
  // Of a layer's two halves, attention and experts: seconds of the collectives that send tokens
  // from experts to attention and the other way round, and as much of `collective_waits` as is
  // theirs. In a fused pair they go on beside the other pass; where `weight_grads_apart`, none
  // waits for weight gradients. `second_half` is its part of the kernels; empty: all
  // is the first's.
  std::array<ByKindAndStage, 2> dispatch;
  std::array<ByKindAndStage, 2> dispatch_waits;
  ByKindAndStage second_half;
  bool weight_grads_apart = false;
  std::size_t half_of(const Call& call) const {
    return second_half.front().empty() || call.combines ? 0 : 1;
  }
  // Of the kernels: seconds beside which collectives of the same pass run, where these slow them
  // down (`collective_waits` has by how much).
  ByKindAndStage overlapped;

  // Where microbatches differ: parts of the kernels whose work goes by the pairs of queries and
  // keys, and by the tokens of the busiest rank's experts; the rest goes by tokens.
  ByKindAndStage launch_seconds;  // of the host, also where kernels take longer
  ByKindAndStage attention_share;
  ByKindAndStage experts_share;
  std::vector<std::vector<std::uint32_t>> expert_layers;  // per virtual stage
  // Of the collectives within passes, once a cluster has timed them: what collective_waits are
  // made of.
  struct TimedCall {
    Group group = Group::tp;
    std::string_view name;  // of what it does
    std::uint64_t bytes = 0;
    std::optional<std::size_t> half;  // of dispatch: which it is of
    std::uint32_t times = 1;
    double seconds = 0;  // of one
    double compute = 0;  // beside one
    double waits = 0;    // of a pass for it
  };
  std::array<std::vector<std::vector<TimedCall>>, schedules::pass_kinds> timed_calls;

  // By kind and stage: how many times as long compute takes while collectives run beside it, whose
  // kernels take processors. Empty: as long.
  ByKindAndStage overlap_slowdown;
  ByKindAndStage dispatch_slowdown;  // the same of those that send tokens; empty: no other

  static double of(const ByKindAndStage& seconds, const schedules::Pass& pass) {
    const auto& of_stage = seconds[static_cast<std::size_t>(pass.kind)];
    return of_stage.empty() ? 0 : of_stage[pass.stage];
  }
  // Seconds by which collectives make a pass longer.
  double exposed(const schedules::Pass& pass) const {
    return std::max(0.0, of(collective_waits, pass) - of(host_waits, pass));
  }
  // Kernels and launches of a stage's passes take `factor` times as long, its collectives do not.
  void slow_down(std::uint32_t stage, double factor, config::Detail detail);

  std::uint64_t boundary_bytes = 0;  // of what one GPU, of the largest device, sends the next stage
  // Of each stage's input on one GPU, which a stage that recomputes keeps; empty: what is sent.
  std::vector<std::uint64_t> input_bytes;
  std::vector<Activations> activations;  // per virtual stage
  std::vector<DeviceState> state;        // per device

  // Of a model; empty or 0 where a scenario gives times alone.
  std::vector<StageTraffic> traffic;  // per virtual stage
  std::vector<std::uint64_t>
      gathered;                 // per virtual stage: ZeRO-3's whole weights of two layers, bytes
  double gathered_element = 2;  // bytes of a weight that ZeRO gathers
  std::uint64_t gathered_whole(std::uint32_t stage) const {
    return static_cast<std::uint64_t>(
        static_cast<double>(traffic[stage].parameters + traffic[stage].expert_parameters) *
        gathered_element);
  }
  std::vector<double> optimizer_seconds;  // per device, of the step
  // FLOP of F, I and W of the whole model, 3 x forward: of attention's scores those that count
  // where attention is causal, and all.
  double model_flops_per_microbatch = 0;
  double full_attention_flops_per_microbatch = 0;
  double hardware_flops_per_microbatch = 0;  // with what passes of any schedule recompute
  std::vector<double> forward_flops;         // per virtual stage, FLOP of a microbatch's F
  std::vector<std::uint64_t> launches;       // per virtual stage: kernels of its layers' F, I and W
  double peak_flops = 0;                     // FLOP/s of a GPU in bf16
  double precision_peak_flops = 0;           // and in the type of the recipe's products
};

}  // namespace pipewright::workload
