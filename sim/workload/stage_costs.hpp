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

// Activation memory of one microbatch on one GPU of a stage, in bytes.
struct Activations {
  std::uint64_t held = 0;                    // from the start of F
  std::uint64_t released_by_input_grad = 0;  // at the end of I; W (or B) releases the rest
  std::uint64_t made_by_input_grad = 0;      // gradients for W, from the end of I to the end of W
  std::uint64_t logits = 0;   // in the stage with the vocabulary, from F to the end of B or I
  std::uint64_t working = 0;  // during B or I: activations of a layer that is recomputed in full

  bool operator==(const Activations&) const = default;
};

// Memory that one GPU of a device uses during the whole run, in bytes.
struct DeviceState {
  std::uint64_t weights = 0;  // one version
  std::uint64_t gradients = 0;
  std::uint64_t optimizer = 0;
  std::uint64_t buffers = 0;    // for transfers and collectives
  std::uint64_t allowance = 0;  // reserved by the driver or lost to fragmentation
  std::uint64_t step = 0;       // added while the optimizer makes its step

  bool operator==(const DeviceState&) const = default;
};

// Time and memory that a schedule's passes cost on each of the GPUs of a device.
struct StageCosts {
  // Seconds of each kind of pass on each virtual stage. With a model, a pass takes the time of its
  // kernels plus the longer of two waits: host_waits, by which the host takes longer to launch the
  // kernels, and collective_waits, by which collectives take longer than the compute that hides
  // them; the latter exist once a cluster has timed the calls of `traffic`. Collectives continue
  // while a GPU waits for its host. `times` does not include collectives that are simulated one by
  // one.
  schedules::PassTimes times;
  using ByKindAndStage = std::array<std::vector<double>, schedules::pass_kinds>;  // empty: none
  ByKindAndStage host_waits;
  ByKindAndStage collective_waits;
  // Layers with experts have two halves, attention and experts. By half: seconds of the collectives
  // that send tokens from one half to the other, and how much of `collective_waits` they cause. In
  // a fused pair these collectives run beside the other pass; with weight_grads_apart, none of them
  // waits for weight gradients. In schedules with braided pairs, tensor-parallel collectives are
  // among them. `second_half` is the experts' share of the kernel time; if it is empty, all kernels
  // belong to the first half.
  std::array<ByKindAndStage, 2> dispatch;
  std::array<ByKindAndStage, 2> dispatch_waits;
  ByKindAndStage second_half;
  bool weight_grads_apart = false;
  std::size_t half_of(const Call& call) const {
    return second_half.front().empty() || call.combines ? 0 : 1;
  }
  // Seconds of a pass's kernels that run beside collectives of the same pass, if collectives slow
  // kernels down; collective_waits includes the slowdown.
  ByKindAndStage overlapped;

  // Seconds that the host needs to launch all kernels of a pass, whether or not the kernels take
  // longer.
  ByKindAndStage launch_seconds;
  // Shares of a pass's kernel time that are proportional to the pairs of queries and keys, to the
  // tokens of the busiest rank's experts, and to the work of the encoder of images. The rest is
  // proportional to tokens. Empty if all microbatches are equal.
  ByKindAndStage attention_share;
  ByKindAndStage experts_share;
  ByKindAndStage encoder_share;  // empty: the encoder's work is proportional to tokens
  std::vector<std::vector<std::uint32_t>> expert_layers;  // per virtual stage
  // A collective within a pass, with its time on the cluster. Together, these calls cause
  // collective_waits.
  struct TimedCall {
    Group group = Group::tp;
    std::string_view name;  // name of the operation
    std::uint64_t bytes = 0;
    std::optional<std::size_t> half;  // half of the layer, if it is counted in `dispatch`
    std::uint32_t times = 1;
    double seconds = 0;  // time of one call
    double compute = 0;  // compute that runs beside one call
    double waits = 0;    // seconds that the pass waits for the call

    bool is_dispatch() const { return group == Group::ep; }
  };
  std::array<std::vector<std::vector<TimedCall>>, schedules::pass_kinds> timed_calls;

  // Returns the times of the exchanges between passes of a split vocabulary that no pass waits for
  // itself: those of the broadcasts before S, and of the sums after S and after T.
  schedules::HopTimes::Barriers exchanges() const;

  // Factor by which kernels take longer while collectives run beside them, because the kernels of
  // collectives occupy SMs; by kind of pass and stage. Empty: no slowdown.
  ByKindAndStage overlap_slowdown;
  ByKindAndStage dispatch_slowdown;  // factor for dispatch; empty: overlap_slowdown

  static double of(const ByKindAndStage& seconds, const schedules::Pass& pass) {
    const auto& stage_seconds = seconds[static_cast<std::size_t>(pass.kind)];
    return stage_seconds.empty() ? 0 : stage_seconds[pass.stage];
  }
  // Returns the seconds by which collectives make a pass longer than its kernels and its waits for
  // the host.
  double exposed(const schedules::Pass& pass) const {
    return std::max(0.0, of(collective_waits, pass) - of(host_waits, pass));
  }
  // Multiplies the kernel and launch times of a stage's passes by `factor`; collectives keep
  // theirs.
  void slow_down(std::uint32_t stage, double factor, config::Detail detail);

  std::uint64_t boundary_bytes = 0;  // what one GPU of the largest device sends to the next stage
  // Bytes of each stage's input on one GPU, which a stage that recomputes stores. Empty:
  // boundary_bytes.
  std::vector<std::uint64_t> input_bytes;
  std::vector<Activations> activations;  // per virtual stage
  std::vector<DeviceState> state;        // per device

  // Costs that only a model determines; they are empty or 0 in a scenario that gives times instead.
  std::vector<StageTraffic> traffic;  // per virtual stage
  // Bytes of the whole weights that ZeRO-3 holds gathered at a time, per virtual stage: those of
  // the layer in use, and of `gathers_ahead` layers that arrive.
  std::vector<std::uint64_t> gathered;
  std::vector<std::uint32_t> gathers_ahead;  // per virtual stage; empty: 1
  // Numbers of weights that ZeRO-3 gathers one by one, per virtual stage. Empty: it gathers layers.
  std::vector<std::uint32_t> gathered_matrices;
  double gathered_element = 2;  // bytes of a weight that ZeRO gathers
  // Returns the bytes of all weights of a stage if they are gathered at the same time.
  std::uint64_t gathered_whole(std::uint32_t stage) const {
    const StageTraffic& weights = traffic[stage];
    return weights.frozen_bytes + weights.frozen_expert_bytes +
           static_cast<std::uint64_t>(
               static_cast<double>(weights.parameters + weights.expert_parameters) *
                   gathered_element +
               weights.other_gathered + weights.expert_other_gathered);
  }
  std::vector<double> optimizer_seconds;  // time of the optimizer step, by device
  // Collectives of the optimizer step, per device; empty: none. Once a cluster has timed them,
  // optimizer_seconds includes what compute does not hide.
  std::vector<std::vector<Call>> step_calls;
  // FLOP per microbatch of F, I and W of the whole model (3 x forward), as MFU counts them. The
  // first number counts only the attention scores that a causal mask leaves, the second all scores.
  double model_flops_per_microbatch = 0;
  double full_attention_flops_per_microbatch = 0;
  // FLOP per microbatch that GPUs execute, including the recomputation inside passes, which all
  // schedules have.
  double hardware_flops_per_microbatch = 0;
  std::vector<double> forward_flops;  // F of one microbatch, per virtual stage
  // Number of kernels in F, I and W of a stage's layers that CUDA graphs capture, per virtual
  // stage.
  std::vector<std::uint64_t> captured;
  double peak_flops = 0;            // FLOP/s of a GPU in bf16
  double precision_peak_flops = 0;  // FLOP/s in the number format of the recipe's products
};

}  // namespace pipewright::workload
