#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

// The rows of a trace: what happened in one run, in the units of format.md (seconds, bytes).
// Everything in analysis/ reads these; the engines write them through a Sink.
namespace pipewright::trace {

enum class PassKind : std::uint8_t { forward, input_grad, weight_grad, backward, recompute };
inline constexpr int pass_kinds = 5;

enum class TransferKind : std::uint8_t { activation, gradient };

enum class MemoryCategory : std::uint8_t {
  weights,
  gradients,
  optimizer,
  activations,
  logits,     // and what else the loss keeps
  working,    // activations of the layer that a backward pass recomputes
  gathered,   // whole weights, while ZeRO-3 needs them
  buffers,    // of transfers and collectives
  allowance,  // reserved by the driver, or lost to fragmentation
};
inline constexpr int memory_categories = 9;

enum class CollectiveKind : std::uint8_t { reduce_gradients, gather_weights, tie_embeddings };
inline constexpr int collective_kinds = 3;

// What a link carries, and why a device may wait for the network.
enum class TrafficClass : std::uint8_t {
  activation,  // boundary tensors, forward
  gradient,    // and backward
  reduce_gradients,
  gather_weights,
  tie_embeddings,
  in_passes,  // tensor, context and expert collectives, where a run simulates them in full detail
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

// Whether a pass makes a gradient of its stage's input.
constexpr bool makes_gradient(PassKind kind) {
  return kind == PassKind::input_grad || kind == PassKind::backward;
}

inline constexpr std::uint32_t no_link = 0xffffffff;

// Numbers of a GPU's file that no source has, on which figures rest.
struct Assumed {
  std::string gpu;                // the file's name; of several, "b200 and l40s"
  std::vector<std::string> keys;  // of the file; none: nothing is assumed

  bool operator==(const Assumed&) const = default;
};

// What the run was: enough to label its outputs and, with `scenario`, to run it again.
struct RunInfo {
  std::string schedule;
  std::string engine;    // "simgrid" or "timing"
  std::string p2p;       // "eager", "rendezvous" or "blocking"
  std::string network;   // one line: the cluster's file or the ideal network's latency
  std::string scenario;  // the effective scenario as YAML
  std::string cluster;   // the platform file's text, empty on an ideal network
  std::string versions;  // "pipewright 0.1.0, SimGrid 3.32.0"
  std::uint32_t devices = 0;
  std::uint32_t chunks = 1;
  std::uint32_t microbatches = 0;  // of one iteration
  std::uint32_t iterations = 1;
  double samples_per_microbatch = 0;  // 0: unknown
  double tokens_per_microbatch = 0;   // 0: unknown
  std::uint32_t slices = 1;    // of a microbatch along the sequence; passes then count slices
  std::uint32_t replicas = 1;  // data-parallel copies of the pipeline, of which rows show the first
  std::uint32_t ranks_per_stage = 1;  // GPUs that make up a device, the largest
  std::uint32_t gpus = 0;             // of all devices and replicas; 0: all devices have as many
  // FLOP of a microbatch: forward and backward, causal attention counted once; 0: unknown.
  double model_flops = 0;
  double full_attention_flops = 0;  // the same with attention's whole square of scores
  double hardware_flops = 0;        // as model_flops, with what is recomputed
  double peak_flops = 0;            // FLOP/s of a GPU in bf16
  double precision_peak_flops = 0;  // and in the data type of the recipe
  Assumed assumed;                  // what its times rest on
  std::string job;                  // one line: model, GPU, layout, recipe; empty without a model

  bool operator==(const RunInfo&) const = default;
};

struct DeviceRow {
  std::uint32_t device = 0;
  std::string host;
  std::uint64_t memory_capacity = 0;  // bytes, 0: unknown

  bool operator==(const DeviceRow&) const = default;
};

struct StageRow {
  std::uint32_t stage = 0;       // virtual stage
  std::uint32_t chunk = 0;       // its place among the chunks of its device
  std::uint32_t device = 0;      // a stage that lives on two devices has two rows
  std::uint32_t recomputed = 0;  // 1: F keeps no activations, R makes them anew
  // Seconds of each F, I, W, B and R in which the device waits for collectives within the pass.
  double waits_f = 0;
  double waits_i = 0;
  double waits_w = 0;
  double waits_b = 0;
  double waits_r = 0;
  // The same of an F and of an I or B that run as one with another: together what the two wait.
  double waits_paired_f = 0;
  double waits_paired_b = 0;

  std::array<double, pass_kinds> exposed_in_passes() const {  // by kind of pass
    return {waits_f, waits_i, waits_w, waits_b, waits_r};
  }
  std::array<double, pass_kinds> exposed_in_pairs() const {
    return {waits_paired_f, waits_paired_b, 0, waits_paired_b, 0};
  }
  bool operator==(const StageRow&) const = default;
};

// What collectives of one kind within a device's passes come to, over the whole run.
struct PassCollectiveRow {
  std::uint32_t device = 0;
  std::string group;        // "tp", "cp", "ep", ...
  std::string operation;    // "all-gather"; of tokens "dispatch" to their experts, "combine" back
  std::uint64_t calls = 0;  // of one of its GPUs
  std::uint64_t bytes = 0;  // likewise, as nccl-tests counts them
  double seconds = 0;       // that they take, with nothing but their own kind on the network
  double exposed = 0;       // seconds in which passes wait for them, or are slower beside them

  bool operator==(const PassCollectiveRow&) const = default;
};

// One pass: sent <= ready <= start < end <= released (all but `start < end` may be equal). Two that
// run as one, a fused forward and backward, follow one another with the same start and end.
struct PassRow {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::uint32_t chunk = 0;
  std::uint32_t microbatch = 0;  // or slice of one, counted over all iterations
  std::uint32_t iteration = 0;
  PassKind kind = PassKind::forward;
  double sent = 0;      // its input was handed to the network (0 for the first stage's input)
  double ready = 0;     // its input had arrived
  double start = 0;     // the device began to compute
  double end = 0;       // the device finished computing
  double released = 0;  // the device could go on: later than `end` only where sends block it

  bool operator==(const PassRow&) const = default;
};

// One boundary tensor on its way between two devices.
struct TransferRow {
  std::uint32_t source = 0;       // device
  std::uint32_t destination = 0;  // device
  std::uint32_t stage = 0;        // the stage that produced it
  std::uint32_t microbatch = 0;
  TransferKind kind = TransferKind::activation;
  std::uint64_t bytes = 0;
  double posted = 0;  // the sender was done with it
  double start = 0;   // its first byte could move: later than `posted` under rendezvous
  double end = 0;     // its last byte had arrived

  bool operator==(const TransferRow&) const = default;
};

// From `time` on, `device` holds `bytes` in `category`.
struct MemoryRow {
  std::uint32_t device = 0;
  MemoryCategory category = MemoryCategory::weights;
  double time = 0;
  std::uint64_t bytes = 0;

  bool operator==(const MemoryRow&) const = default;
};

// One collective that ran beside the passes of a device.
struct CollectiveRow {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::uint32_t iteration = 0;
  CollectiveKind kind = CollectiveKind::reduce_gradients;
  std::uint64_t bytes = 0;  // of one GPU's buffer
  double posted = 0;        // this device was ready for it
  double start = 0;         // all who take part were
  double end = 0;

  bool operator==(const CollectiveRow&) const = default;
};

// The end of a device's iteration: start <= reduced <= synchronized <= updated <= end.
struct StepRow {
  std::uint32_t device = 0;
  std::uint32_t iteration = 0;
  double start = 0;         // its last pass had ended
  double reduced = 0;       // its gradients were reduced
  double synchronized = 0;  // all devices knew the norm of the gradients
  double updated = 0;       // the optimizer's step was done
  double end = 0;           // its weights were whole again
  double gathering = 0;     // seconds in which passes of the iteration waited for weights

  bool operator==(const StepRow&) const = default;
};

// A link that carried something; or one that stands for all those which fared alike.
struct LinkRow {
  std::uint32_t link = 0;   // its number in this trace
  std::string name;         // "node-0-nvlink-7_UP"
  std::string link_class;   // what it is, "nvlink"
  std::uint32_t alike = 1;  // links that it stands for, itself included
  double bandwidth = 0;     // bytes/s

  bool operator==(const LinkRow&) const = default;
};

// What one class of traffic did to a link in a piece of time. A flow's bytes spread evenly from its
// start to its end.
struct LinkUseRow {
  std::uint32_t link = 0;
  TrafficClass traffic = TrafficClass::activation;
  double start = 0;
  double end = 0;
  std::uint64_t bytes = 0;
  double flows = 0;   // flow seconds: the number of flows on it, summed over time
  double waited = 0;  // flow seconds by which flows took longer because this link was shared

  bool operator==(const LinkUseRow&) const = default;
};

// The way of one kind of traffic of the first replica.
struct PathRow {
  TrafficClass traffic = TrafficClass::activation;
  std::uint32_t source = 0;       // device
  std::uint32_t destination = 0;  // likewise; of a collective the same
  std::uint32_t stage = 0;        // of a collective; else 0
  std::uint32_t link = no_link;   // its narrowest
  double alone = 0;               // seconds that it takes when nothing else is on the way

  bool operator==(const PathRow&) const = default;
};

// A whole trace in memory. Rows of one device are in order of time; those of different devices mix.
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
  std::vector<LinkRow> links;
  std::vector<LinkUseRow> link_use;
  std::vector<PathRow> paths;

  bool operator==(const Trace&) const = default;
};

}  // namespace pipewright::trace
