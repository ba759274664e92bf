#pragma once

#include <cstdint>
#include <optional>

#include "schedules/justify.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::workload {

// What every device may hold at the most.
struct MemoryLimit {
  enum class Unit : std::uint8_t {
    microbatches,  // in flight, of a whole device: a chunk counts 1/chunks until the end of its W
    bytes,         // of activations, weights, gradients and the optimizer's state together
  };
  Unit unit = Unit::microbatches;
  double value = 0;
};

// A scenario's costs on one placement of its stages, for a search; none where a list of one time
// per stage is for another number of stages. A hop takes `hop` seconds. Throws config::Error if the
// limit is in bytes and the scenario does not say what activations take, or if it has the time of
// whole backwards only.
std::optional<schedules::Pipeline> make_pipeline(const config::Scenario& scenario,
                                                 const schedules::Routes& routes,
                                                 const MemoryLimit& limit, double hop);

// The least limit, in its unit, within which any order can run: one microbatch at a time.
double least_limit(const config::Scenario& scenario, MemoryLimit::Unit unit);

}  // namespace pipewright::workload
