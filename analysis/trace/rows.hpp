#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

// Rows of a trace, which describe one run in the units of format.md (seconds, bytes). Everything in
// analysis/ reads these rows; engines write them to a Sink.
namespace pipewright::trace {

// The last two are S and T, which every device runs for its part of a split vocabulary.
enum class PassKind : std::uint8_t {
  forward,
  input_grad,
  weight_grad,
  backward,
  recompute,
  output,
  output_grad
};
inline constexpr int pass_kinds = 7;

enum class TransferKind : std::uint8_t { activation, gradient };

enum class MemoryCategory : std::uint8_t {
  weights,
  gradients,
  optimizer,
  activations,
  logits,     // Logits and everything else that the loss stores.
  working,    // Activations of the layer that a backward pass recomputes.
  gathered,   // Whole weights, while ZeRO-3 needs them.
  buffers,    // Buffers of transfers and collectives.
  allowance,  // Memory reserved by the driver or lost to fragmentation.
};
inline constexpr int memory_categories = 9;

enum class CollectiveKind : std::uint8_t { reduce_gradients, gather_weights, tie_embeddings };
inline constexpr int collective_kinds = 3;

// Event for which replicas wait for each other.
enum class WaitEvent : std::uint8_t {
  reduce_gradients,  // A reduction of gradients starts.
  gather_weights,    // A gathering of weights starts.
  norm,              // The gradients of all devices are reduced, as their norm needs.
  end,               // The iteration has ended on all devices of all replicas.
};
inline constexpr int wait_events = 4;

// Purpose of the traffic on a link. Also the reason why a device may wait for the network.
enum class TrafficClass : std::uint8_t {
  activation,  // Boundary tensors of forward passes.
  gradient,    // Boundary tensors of backward passes.
  reduce_gradients,
  gather_weights,
  tie_embeddings,
  in_passes,  // Tensor, context and expert collectives, if a run simulates them in full detail.
};
inline constexpr int traffic_classes = 6;

constexpr TrafficClass traffic_of(TransferKind kind) {
  return kind == TransferKind::activation ? TrafficClass::activation : TrafficClass::gradient;
}
constexpr TrafficClass traffic_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::gather_weights:
      return TrafficClass::gather_weights;
    case CollectiveKind::tie_embeddings:
      return TrafficClass::tie_embeddings;
    case CollectiveKind::reduce_gradients:
      break;
  }
  return TrafficClass::reduce_gradients;
}

// Returns true if a pass computes the gradient of its stage's input.
constexpr bool makes_gradient(PassKind kind) {
  return kind == PassKind::input_grad || kind == PassKind::backward;
}

inline constexpr std::uint32_t no_link = 0xffffffff;

// Error of predicted iteration times in measured runs of the nearest kind: the share `nominal` of
// such runs has measured / predicted - 1 between `low` and `high`.
struct ExpectedError {
  double low = 0;
  double high = 0;
  double nominal = 0;
  double median = 0;
  // Standard deviation of ln(measured / predicted) among runs of one model, and so the error of
  // comparing two layouts; 0: unknown.
  double scatter = 0;
  std::string basis;       // Kind of the measured runs: "h100-sxm, bf16, dense, megatron-core".
  std::uint64_t rows = 0;  // Number of measured runs; 0: no error is known.

  auto operator<=>(const ExpectedError&) const = default;
};

// Evidence for predicted times: assumed values, which are values of a GPU's file or of a software
// stack without a source, and measured runs.
struct Evidence {
  std::string gpu;                // GPU file of the keys; "b200 and l40s" for several.
  std::vector<std::string> keys;  // Keys that influence the run; empty if nothing is assumed.
  ExpectedError expected_error = {};

  auto operator<=>(const Evidence&) const = default;
};

// Properties of the run: enough to label its outputs and, with `scenario`, to run it again.
struct RunInfo {
  std::string schedule;
  std::string engine;    // "simgrid" or "timing"
  std::string p2p;       // "eager", "rendezvous", "blocking" or "steady"
  std::string network;   // One line: the cluster's file, or the latency of the ideal network.
  std::string scenario;  // The effective scenario as YAML.
  std::string cluster;   // Text of the platform file; empty on an ideal network.
  std::string versions;  // "pipewright 0.1.0, SimGrid 3.32.0"
  std::uint32_t devices = 0;
  std::uint32_t chunks = 1;
  std::uint32_t microbatches = 0;  // Microbatches of one iteration.
  std::uint32_t iterations = 1;
  double samples_per_microbatch = 0;  // 0 if unknown.
  double tokens_per_microbatch = 0;   // 0 if unknown.
  std::uint32_t slices = 1;  // Slices of a microbatch along the sequence; passes then count slices.
  std::uint32_t replicas = 1;  // Data-parallel copies of the pipeline; rows describe the first one.
  // Number of GPUs that a device consists of; the largest number if devices differ.
  std::uint32_t ranks_per_stage = 1;
  std::uint32_t gpus = 0;  // GPUs of all devices and replicas if devices differ, otherwise 0.
  // FLOP of the forward and backward of a microbatch, with causal attention counted once; 0 if
  // unknown.
  double model_flops = 0;
  double full_attention_flops = 0;  // model_flops with the full square of attention scores.
  double hardware_flops = 0;        // model_flops plus recomputation.
  double peak_flops = 0;            // FLOP/s of a GPU in bf16.
  double precision_peak_flops = 0;  // FLOP/s of a GPU in the data type of the recipe.
  Evidence evidence;                // What the times rest on.
  std::string job;                  // One line: model, GPU, layout, recipe; empty without a model.

  bool operator==(const RunInfo&) const = default;
};

struct DeviceRow {
  std::uint32_t device = 0;
  std::string host;
  std::uint64_t memory_capacity = 0;  // Bytes; 0 if unknown.

  bool operator==(const DeviceRow&) const = default;
};

struct StageRow {
  std::uint32_t stage = 0;       // Index of the virtual stage.
  std::uint32_t chunk = 0;       // Index among the chunks of its device.
  std::uint32_t device = 0;      // A stage that is on two devices has two rows.
  std::uint32_t recomputed = 0;  // 1 if F stores no activations and R recomputes them.
  // Seconds in which the device waits for collectives within one F, I, W, B or R pass of the stage;
  // within S and T below.
  double waits_f = 0;
  double waits_i = 0;
  double waits_w = 0;
  double waits_b = 0;
  double waits_r = 0;
  // Seconds in which the device waits for collectives within the F of a fused pair, and within its
  // I or B. The pair waits for the sum of both.
  double waits_paired_f = 0;
  double waits_paired_b = 0;
  double waits_s = 0;
  double waits_t = 0;

  std::array<double, pass_kinds> exposed_in_passes() const {  // By kind of pass.
    return {waits_f, waits_i, waits_w, waits_b, waits_r, waits_s, waits_t};
  }
  std::array<double, pass_kinds> exposed_in_pairs() const {
    return {waits_paired_f, waits_paired_b, 0, waits_paired_b, 0, 0, 0};
  }
  bool operator==(const StageRow&) const = default;
};

// All collectives of one kind within the passes of a device, summed over the whole run.
struct PassCollectiveRow {
  std::uint32_t device = 0;
  std::string group;  // "tp", "cp", "ep", ...
  // Name such as "all-gather". For expert parallelism, "dispatch" sends tokens to their experts and
  // "combine" returns them.
  std::string operation;
  std::uint64_t calls = 0;  // Calls of one GPU of the device.
  std::uint64_t bytes = 0;  // Bytes of these calls, as nccl-tests counts them.
  // Duration of all calls, with only the same collective of other groups on the network.
  double seconds = 0;
  double exposed = 0;  // Seconds in which passes wait for the collectives or are slowed by them.

  bool operator==(const PassCollectiveRow&) const = default;
};

// One pass: sent <= ready <= start < end <= released (all but `start < end` may be equal). The two
// passes of a fused pair are adjacent and have the same start and end.
struct PassRow {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::uint32_t chunk = 0;
  std::uint32_t microbatch =
      0;  // Microbatch or slice of a microbatch, counted over all iterations.
  std::uint32_t iteration = 0;
  PassKind kind = PassKind::forward;
  double sent = 0;      // The input was handed to the network; 0 for the input of the first stage.
  double ready = 0;     // The input had arrived.
  double start = 0;     // The device began to compute.
  double end = 0;       // The device finished computing.
  double released = 0;  // The device could continue: later than `end` only if a send blocks it.

  bool operator==(const PassRow&) const = default;
};

// Transfer of one boundary tensor between two devices.
struct TransferRow {
  std::uint32_t source = 0;       // Sending device.
  std::uint32_t destination = 0;  // Receiving device.
  std::uint32_t stage = 0;        // Stage that produced the tensor.
  std::uint32_t microbatch = 0;
  TransferKind kind = TransferKind::activation;
  std::uint64_t bytes = 0;
  double posted = 0;  // The sender had finished the tensor.
  double start = 0;   // The first byte could move: later than `posted` under rendezvous.
  double end = 0;     // The last byte had arrived.

  bool operator==(const TransferRow&) const = default;
};

// Change of memory: `device` holds `bytes` in `category` from `time` on.
struct MemoryRow {
  std::uint32_t device = 0;
  MemoryCategory category = MemoryCategory::weights;
  double time = 0;
  std::uint64_t bytes = 0;

  bool operator==(const MemoryRow&) const = default;
};

// A collective that runs beside the passes of a device, for example a gradient reduction.
struct CollectiveRow {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::uint32_t iteration = 0;
  CollectiveKind kind = CollectiveKind::reduce_gradients;
  std::uint64_t bytes = 0;  // Bytes of one GPU's buffer.
  double posted = 0;        // This device was ready.
  double start = 0;         // All participants were ready.
  double end = 0;

  bool operator==(const CollectiveRow&) const = default;
};

// Optimizer step at the end of a device's iteration: start <= reduced <= synchronized <= updated <=
// end.
struct StepRow {
  std::uint32_t device = 0;
  std::uint32_t iteration = 0;
  double start = 0;         // The last pass had ended.
  double reduced = 0;       // The gradients were reduced.
  double synchronized = 0;  // All devices knew the norm of the gradients.
  double updated = 0;       // The optimizer step was done.
  double end = 0;           // The weights were complete again.
  double gathering = 0;     // Seconds in which passes of the iteration waited for weights.

  bool operator==(const StepRow&) const = default;
};

// A wait of the replica of the trace for another replica: the device copy that is last at an event,
// and the time at which it is ready.
struct WaitRow {
  std::uint32_t iteration = 0;
  WaitEvent event = WaitEvent::norm;
  std::uint32_t stage = 0;    // Stage of the collective; 0 for other events.
  std::uint32_t replica = 0;  // Replica that is waited for.
  std::uint32_t device = 0;   // Device of that replica that is last.
  double time = 0;            // This device was ready.

  bool operator==(const WaitRow&) const = default;
};

// A link that carried traffic. One row may represent several links with equal traffic.
struct LinkRow {
  std::uint32_t link = 0;   // Index of the link in this trace.
  std::string name;         // "node-0-nvlink-7_UP"
  std::string link_class;   // Class of the link: "nvlink".
  std::uint32_t alike = 1;  // Number of links that it represents, including itself.
  double bandwidth = 0;     // Bytes/s.

  bool operator==(const LinkRow&) const = default;
};

// Traffic of one class on a link during a period. The bytes of a flow are spread evenly from its
// start to its end.
struct LinkUseRow {
  std::uint32_t link = 0;
  TrafficClass traffic = TrafficClass::activation;
  double start = 0;
  double end = 0;
  std::uint64_t bytes = 0;
  double flows = 0;   // Flow seconds: the number of flows on the link, integrated over time.
  double waited = 0;  // Flow seconds by which flows took longer because they shared this link.

  bool operator==(const LinkUseRow&) const = default;
};

// Narrowest link of the route that one kind of traffic takes in the first replica.
struct PathRow {
  TrafficClass traffic = TrafficClass::activation;
  std::uint32_t source = 0;       // Sending device.
  std::uint32_t destination = 0;  // Receiving device; equal to `source` for a collective.
  std::uint32_t stage = 0;        // Stage of a collective; 0 for transfers.
  std::uint32_t link = no_link;   // Narrowest link of the route.
  double alone = 0;               // Duration without other traffic on the route, in seconds.

  bool operator==(const PathRow&) const = default;
};

// A whole trace in memory. Rows of one device are in order of time; rows of different devices mix.
struct Trace {
  RunInfo run;
  std::vector<DeviceRow> devices;
  std::vector<StageRow> stages;
  std::vector<PassCollectiveRow> pass_collectives;
  std::vector<PassRow> passes;
  std::vector<TransferRow> transfers;
  std::vector<MemoryRow> memory;
  std::vector<CollectiveRow> collectives;
  std::vector<StepRow> steps;
  std::vector<WaitRow> waits;
  std::vector<LinkRow> links;
  std::vector<LinkUseRow> link_use;
  std::vector<PathRow> paths;

  bool operator==(const Trace&) const = default;
};

}  // namespace pipewright::trace
