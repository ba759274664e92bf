#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

inline constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();

// Returns the largest difference between two times, in seconds, at which they count as the same
// event. Engines merge events that are so close.
inline double time_tolerance(double time) { return 2e-9 + 1e-12 * time; }

// A pass, or a fused pair of passes, which run at once on a device.
struct PassUnit {
  std::size_t first = no_row;     // row of trace.passes
  std::size_t last = no_row;      // row of the second pass; equal to `first` for a single pass
  std::size_t previous = no_row;  // previous unit of the device
  bool is_fused() const { return first != last; }
};

// Finds the row of a table by stage and microbatch. Row numbers are kept in an array if most of its
// entries are in use, otherwise in a hash map.
class RowsByStage {
 public:
  // Reserves memory for this many rows. `stages` and `microbatches` are upper bounds of the keys.
  void reserve(std::size_t rows, std::uint64_t stages, std::uint64_t microbatches);
  // Adds a row. If the stage and microbatch have a row already, that one is kept.
  void add(std::uint32_t stage, std::uint32_t microbatch, std::size_t row);
  // Returns no_row if the stage and microbatch have no row.
  std::size_t find(std::uint32_t stage, std::uint32_t microbatch) const;

 private:
  std::uint64_t stages_ = 0;
  std::uint64_t microbatches_ = 0;
  std::vector<std::uint32_t> table_;  // row + 1, or 0; empty if the map is used
  std::unordered_map<std::uint64_t, std::uint32_t> map_;
};

// Order of events in a trace: the order of passes on each device, and the producer of each input.
// The trace must outlive the index.
class TraceIndex {
 public:
  // The constructor is not explicit, so that a trace can be passed to functions that take an index.
  TraceIndex(const trace::Trace& trace);
  const trace::Trace& trace() const { return trace_; }

  // All passes and fused pairs; those of a device are in order of time.
  const std::vector<PassUnit>& units() const { return units_; }
  std::size_t unit_of(std::size_t pass) const { return unit_of_[pass]; }
  const std::vector<std::uint32_t>& units_on(std::uint32_t device) const {
    return units_on_[device];
  }
  // Optimizer steps and collectives of a device, in order of their ends.
  const std::vector<const trace::StepRow*>& steps_on(std::uint32_t device) const {
    return steps_on_[device];
  }
  const std::vector<const trace::CollectiveRow*>& collectives_on(std::uint32_t device) const {
    return collectives_on_[device];
  }
  // Returns the device's first optimizer step that ends at `time` or later; null if there is none.
  const trace::StepRow* step_at(std::uint32_t device, double time) const;
  // Returns the optimizer step between a unit and the previous unit of its device, or null.
  const trace::StepRow* step_before_unit(std::size_t unit) const;

  // Return the pass that produces the input, or that consumes the output, of a pass; no_row if the
  // trace has none.
  std::size_t producer(const trace::PassRow& pass) const;
  std::size_t consumer(const trace::PassRow& pass) const;
  // Returns the transfer that brings the input of a pass, or no_row if no transfer does.
  std::size_t transfer_to(const trace::PassRow& pass) const;
  // Returns a row of the table `paths`, or null. `stage` is 0 for transfers of boundary tensors.
  const trace::PathRow* path(trace::TrafficClass traffic, std::uint32_t source,
                             std::uint32_t destination, std::uint32_t stage) const;
  const trace::PathRow* path_of_output(std::size_t pass) const;

  // Seconds in which a pass waits for collectives inside it, at most its duration.
  double exposed_within(std::size_t pass) const;
  // Duration of a pass; half of the pair's for a fused pass, since the trace does not divide it.
  double own_seconds(std::size_t pass) const;
  double makespan() const { return makespan_; }
  // True if the trace has arrival times of inputs, which traces of measured runs lack.
  bool has_inputs() const { return has_inputs_; }

 private:
  // Returns the device's last optimizer step that ended before `time`, or null.
  const trace::StepRow* step_before(std::uint32_t device, double time) const;
  // Returns the pass of a microbatch among `rows` that ends last before `time`, on any stage.
  std::size_t last_of(const RowsByStage& rows, std::uint32_t microbatch, double time) const;
  void add_units();
  void add_passes();

  const trace::Trace& trace_;
  std::vector<PassUnit> units_;
  std::vector<std::uint32_t> unit_of_;                // unit of each pass
  std::vector<std::vector<std::uint32_t>> units_on_;  // by device
  std::vector<std::vector<const trace::StepRow*>> steps_on_;
  std::vector<std::vector<const trace::CollectiveRow*>> collectives_on_;
  RowsByStage forwards_, gradients_;                       // passes of F, and of I and B
  RowsByStage outputs_, output_grads_;                     // passes of S, and of T
  RowsByStage activation_transfers_, gradient_transfers_;  // by stage of their producer
  using PathKey = std::tuple<trace::TrafficClass, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<PathKey, const trace::PathRow*> paths_;
  std::vector<std::array<double, trace::pass_kinds>> in_passes_;  // by stage
  std::vector<std::array<double, trace::pass_kinds>> in_pairs_;   // by stage, of fused pairs
  double makespan_ = 0;
  bool has_inputs_ = false;
};

}  // namespace pipewright::analysis
