#pragma once

#include <cstdint>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"

// Forward-backward improvement from project scheduling (Li and Willis 1992; "double justification",
// Valls, Ballestin and Quintanilla 2005), with the memory of each device as the resource. A forward
// sweep fills the idle time of an order with later passes; a backward sweep does the same on
// reversed time.
namespace pipewright::schedules {

// The order in which each device runs its passes.
using Order = std::vector<std::vector<Pass>>;

// Memory that the activations of one microbatch take, and the limits of devices, in any unit.
struct ActivationMemory {
  std::vector<std::int64_t> held;                    // By stage, held from the start of F (or R).
  std::vector<std::int64_t> released_by_input_grad;  // By stage, the part that the end of I frees.
  std::vector<std::int64_t> limit;                   // By device.
};

// The pipeline whose order of passes is optimized. All microbatches take the same route; backwards
// are all whole or all split.
struct Pipeline {
  Routes routes;
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;
  PassTimes times;
  double hop = 0;  // Transfer time between two devices, in seconds.
  ActivationMemory memory;
  std::vector<bool> recomputed;  // As in Schedule.
};

// An order of passes, with the time at which each starts, in seconds.
struct Plan {
  Order order;
  std::vector<std::vector<double>> start;  // [device][position in its order]
  double makespan = 0;                     // Infinite if the order cannot run within memory.
  double span = 0;                         // Maximum over devices of (last end - first start).
};

// Passes that a sweep may run earlier than in the given order.
enum class Pull : std::uint8_t {
  none,
  safe,     // Passes that end before the ones ahead of them are planned to start: none is delayed.
  fitting,  // Passes that end before any pass ahead whose input is under way can start.
  eager,    // All passes.
};

// Quantity that is minimized: the makespan, or the longest span of a device, from its first start
// to its last end. Of orders with equal values, the one with less of the other quantity is better.
enum class Objective : std::uint8_t { makespan, span };

class Justifier {
 public:
  explicit Justifier(const Pipeline& pipeline);

  // Computes when each pass starts if every device keeps to the given order.
  Plan plan(const Order& order) const;
  // Improves a plan by alternating forward and backward sweeps, at most `rounds` times, until it
  // gets no shorter. In a sweep, a device always runs the first pass of its order that has its
  // inputs, that `pull` allows to run early, and that leaves room in memory for the passes it
  // overtakes.
  Plan improve(const Plan& plan, Pull pull, Objective objective, int rounds) const;

 private:
  enum class Direction : std::uint8_t { forward, backward };
  class Filler;
  Plan fill(const Plan& reference, Pull pull, Direction direction,
            const std::vector<double>& release) const;

  const Pipeline& pipeline_;
};

// Returns true if `a` is better than `b` by more than rounding errors.
bool better(const Plan& a, const Plan& b, Objective objective);

}  // namespace pipewright::schedules
