#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedules/program.hpp"
#include "schedules/routes.hpp"

namespace pipewright::schedules {

// A schedule, or parameters of one, that a user asked for and cannot have.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Who runs what in which order: data, made by a family's generator or read from a file.
struct Schedule {
  std::string name;
  std::uint32_t devices = 0;
  std::uint32_t chunks = 1;        // stages per device
  std::uint32_t microbatches = 0;  // of one iteration
  std::uint32_t iterations = 1;
  std::uint32_t slices = 1;  // of a microbatch along the sequence; passes then count slices
  std::uint32_t weight_versions = 1;  // copies of the weights that a device keeps
  std::vector<bool> recomputed;       // by stage: F keeps nothing, R comes before I or B; or empty
  Routes routes;
  std::vector<Program> programs;  // one per device

  std::uint32_t stages() const { return routes.stages(); }
  // Microbatches, or slices of them, over all iterations: what `Pass::microbatch` counts.
  std::uint32_t total_microbatches() const { return microbatches * slices * iterations; }
  std::uint32_t iteration_of(const Pass& pass) const {
    return pass.microbatch / (microbatches * slices);
  }
  // What a pass's stage and microbatch are of a whole microbatch on 1/devices of the model, the
  // unit in which times of a device are given and activations counted: 1/chunks, as a rule.
  double share() const { return static_cast<double>(devices) / stages() / slices; }
  bool recomputes(std::uint32_t stage) const { return !recomputed.empty() && recomputed[stage]; }
  std::uint64_t size() const;  // passes over all devices
};

// Runs the schedule of one iteration so many times, each with the microbatches that follow.
void set_iterations(Schedule& schedule, std::uint32_t iterations);

bool has_fused_pairs(const Schedule& schedule);
bool splits_backward(const Schedule& schedule);  // into I and W, anywhere

// Whether the stage's activations are held from this pass on: F, or R where there is one.
inline bool takes_activations(const Schedule& schedule, const Pass& pass) {
  return pass.kind == (schedule.recomputes(pass.stage) ? PassKind::recompute : PassKind::forward);
}

// The most microbatches in flight on each device at any time, in microbatches of a whole device
// (a chunk counts 1/chunks, a slice 1/slices of that), from the start of F, or of R where
// that makes them anew, to the end of W or B. Depends on the order alone.
std::vector<double> peak_in_flight(const Schedule& schedule);

}  // namespace pipewright::schedules
