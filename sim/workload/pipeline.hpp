#pragma once

#include <cstdint>
#include <optional>

#include "schedules/justify.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::workload {

// Limit of the memory that a device may use, the same for every device.
struct MemoryLimit {
  // Number of microbatches in flight on a whole device; each of its chunks counts as a fraction of
  // a microbatch until the end of the chunk's W.
  enum class Unit : std::uint8_t {
    microbatches,  // in flight, of a whole device: a chunk counts 1/chunks until the end of its W
    bytes,         // activations, weights, gradients and optimizer state together
  };
  Unit unit = Unit::microbatches;
  double value = 0;
};

// Returns the costs of a scenario on one placement of its stages, as the search for an order of
// passes needs them. A transfer between devices takes `hop` seconds. Returns nothing if a list with
// one time per stage is for another number of stages. Throws config::Error if the limit is in bytes
// but the scenario does not give the size of activations, or if it gives the time of whole backward
// passes only.
std::optional<schedules::Pipeline> make_pipeline(const config::Scenario& scenario,
                                                 const schedules::Routes& routes,
                                                 const MemoryLimit& limit, double hop);

// Returns the smallest memory limit, in `unit`, with which the pipeline can run at all: one
// microbatch at a time.
double least_limit(const config::Scenario& scenario, MemoryLimit::Unit unit);

}  // namespace pipewright::workload
