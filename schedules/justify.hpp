#pragma once

#include <cstdint>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"

// Forward-backward improvement of project scheduling (Li and Willis 1992; "double justification",
// Valls, Ballestin and Quintanilla 2005), with a device's memory as the resource: what an order
// leaves idle is filled by later passes from the left, then, on reversed time, from the right.
namespace pipewright::schedules {

// The passes of each device in order.
using Order = std::vector<std::vector<Pass>>;

// What activations take, in any unit.
struct ActivationMemory {
  std::vector<std::int64_t> held;                    // by stage, from the start of F (or R) on
  std::vector<std::int64_t> released_by_input_grad;  // by stage, of it, at the end of I
  std::vector<std::int64_t> limit;                   // by device
};

// A pipeline whose order is searched: one route, any split of backwards.
struct Pipeline {
  Routes routes;
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;
  PassTimes times;
  double hop = 0;  // seconds between two devices
  ActivationMemory memory;
  std::vector<bool> recomputed;  // as in Schedule
};

// An order with the time at which each of its passes starts, in seconds.
struct Plan {
  Order order;
  std::vector<std::vector<double>> start;  // [device][place in its order]
  double makespan = 0;                     // infinite: the order cannot run within memory
  double span = 0;                         // max over devices of (last end - first start)
};

// What may run before its turn.
enum class Pull : std::uint8_t {
  none,
  safe,     // what ends before the passes ahead of it are planned to start: none runs later
  fitting,  // what ends before any pass ahead of it whose input is under way can start
  eager,    // whatever can
};

// What an improvement looks at first; the other breaks ties.
enum class Objective : std::uint8_t { makespan, span };

class Justifier {
 public:
  explicit Justifier(const Pipeline& pipeline);

  // When each pass runs if every device keeps to its order.
  Plan plan(const Order& order) const;
  // Forward and backward in turn, as long as that improves, at most `rounds` times. At each moment
  // a device runs the first pass of its order that is ready, that may be pulled and that leaves
  // room in memory for those before it.
  Plan improve(const Plan& plan, Pull pull, Objective objective, int rounds) const;

 private:
  enum class Direction : std::uint8_t { forward, backward };
  class Filler;
  Plan fill(const Plan& reference, Pull pull, Direction direction,
            const std::vector<double>& release) const;

  const Pipeline& pipeline_;
};

// Whether `a` is better than `b` by more than rounding.
bool better(const Plan& a, const Plan& b, Objective objective);

}  // namespace pipewright::schedules
