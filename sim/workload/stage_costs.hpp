#pragma once

#include <array>
#include <cstdint>
#include <optional>
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
  // Seconds. Of a model they are compute alone, until a cluster has timed the calls of `traffic`:
  // then they hold these as well, and `exposed` says how much that is, by kind and stage.
  schedules::PassTimes times;
  std::array<std::vector<double>, schedules::pass_kinds> exposed;  // empty: none
  // Of the compute, by kind and stage: seconds beside which collectives of the same pass run, where
  // these slow it down (`exposed` has by how much).
  std::array<std::vector<double>, schedules::pass_kinds> overlapped;

  // By kind and stage: how many times as long compute takes while collectives run beside it, whose
  // kernels take processors. Empty: as long.
  std::array<std::vector<double>, schedules::pass_kinds> overlap_slowdown;
  // Of the compute, by kind and stage: seconds in which the GPU waits for the host to launch its
  // next kernel, and beside which collectives of the same pass go on. Empty: none.
  std::array<std::vector<double>, schedules::pass_kinds> host_waits;

  double exposed_of(const schedules::Pass& pass) const {
    const auto& of_stage = exposed[static_cast<std::size_t>(pass.kind)];
    return of_stage.empty() ? 0 : of_stage[pass.stage];
  }
  double overlapped_of(const schedules::Pass& pass) const {
    const auto& of_stage = overlapped[static_cast<std::size_t>(pass.kind)];
    return of_stage.empty() ? 0 : of_stage[pass.stage];
  }

  std::uint64_t boundary_bytes = 0;  // of what one GPU sends on from stage to stage
  // Of a stage's input on one GPU, which a stage that recomputes keeps; none: what is sent.
  std::optional<std::uint64_t> input_bytes;
  std::vector<Activations> activations;  // per virtual stage
  std::vector<DeviceState> state;        // per device

  // Of a model; empty or 0 where a scenario gives times alone.
  std::vector<StageTraffic> traffic;  // per virtual stage
  std::vector<std::uint64_t>
      gathered;                 // per virtual stage: ZeRO-3's whole weights of two layers, bytes
  double gathered_element = 2;  // bytes of a weight that ZeRO gathers
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
