#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedules/program.hpp"
#include "schedules/routes.hpp"

namespace pipewright::schedules {

// An impossible schedule, or parameters that a family does not support.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The passes of every device in order. A family's function makes them, or they are read from a
// file.
struct Schedule {
  std::string name;
  std::uint32_t devices = 0;
  std::uint32_t chunks = 1;        // Stages per device.
  std::uint32_t microbatches = 0;  // Microbatches of one iteration.
  std::uint32_t iterations = 1;
  std::uint32_t slices = 1;           // Slices of a microbatch; passes then count slices.
  std::uint32_t weight_versions = 1;  // Copies of the weights that a device keeps.
  // True if pairs are braided: the tensor-parallel collectives of each pass of a fused pair run
  // beside the compute of the other pass.
  bool braids = false;
  // Barriers at which all devices exchange results of a vocabulary that is split over them. 0:
  // there are no S and T; 1: B or I of the last stage waits for S of all devices; 2: it waits for T
  // of all devices, which waits for S of all devices.
  std::uint32_t barriers = 0;
  // True for stages whose F keeps no activations, so that R runs before I or B; indexed by stage.
  // Empty if no stage recomputes.
  std::vector<bool> recomputed;
  Routes routes;
  std::vector<Program> programs;  // One per device.

  std::uint32_t stages() const { return routes.stages(); }
  // Number of microbatches over all iterations, or of slices if microbatches are sliced;
  // Pass::microbatch is below it.
  std::uint32_t total_microbatches() const { return microbatches * slices * iterations; }
  std::uint32_t iteration_of(const Pass& pass) const {
    return pass.microbatch / (microbatches * slices);
  }
  // Work of one pass, in units of a whole microbatch on 1/devices of the model. Device times and
  // activation counts refer to that unit. Usually 1/chunks.
  double share() const { return static_cast<double>(devices) / stages() / slices; }
  bool recomputes(std::uint32_t stage) const { return !recomputed.empty() && recomputed[stage]; }
  // True for the stage under which a device runs S and T: its first one.
  bool runs_vocabulary(std::uint32_t stage) const {
    return barriers > 0 && routes.chunk(stage, 0) == 0;
  }
  // Number of passes per microbatch that add gradients of a stage's weights.
  std::uint32_t gradient_passes(std::uint32_t stage) const {
    return runs_vocabulary(stage) ? 2 : 1;
  }
  std::uint64_t size() const;  // Number of passes on all devices.
};

// Sets the number of iterations. Each repeats the schedule of the first one with new microbatches.
void set_iterations(Schedule& schedule, std::uint32_t iterations);

bool has_fused_pairs(const Schedule& schedule);
bool splits_backward(const Schedule& schedule);  // True if any backward is split into I and W.

// Returns true for the pass that begins to hold a stage's activations: F, or R if the stage
// recomputes.
inline bool takes_activations(const Schedule& schedule, const Pass& pass) {
  return pass.kind == (schedule.recomputes(pass.stage) ? PassKind::recompute : PassKind::forward);
}

// Returns the largest number of microbatches in flight on each device, in microbatches of a whole
// device: one on a chunk counts 1/chunks, a slice 1/slices of that. A microbatch is in flight from
// the start of F, or of R if the stage recomputes, to the end of W or B. Depends only on the order
// of passes.
std::vector<double> peak_in_flight(const Schedule& schedule);

}  // namespace pipewright::schedules
