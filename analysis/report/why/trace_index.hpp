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

// Times that are this close are one event: engines merge them.
inline double time_tolerance(double time) { return 2e-9 + 1e-12 * time; }

// What runs at once on a device: a pass, or a fused forward and backward.
struct PassUnit {
  std::size_t first = no_row;     // row of trace.passes
  std::size_t last = no_row;      // the same, or that of the second
  std::size_t previous = no_row;  // the unit before on the device
  bool is_fused() const { return first != last; }
};

// Numbers of rows by stage and microbatch: a table where rows fill it, else a map.
class RowsByPlace {
 public:
  // Of so many rows, with stages and microbatches below these.
  void make_room(std::size_t rows, std::uint64_t stages, std::uint64_t microbatches);
  void add(std::uint32_t stage, std::uint32_t microbatch, std::size_t row);  // the first counts
  std::size_t find(std::uint32_t stage, std::uint32_t microbatch) const;     // or no_row

 private:
  std::uint64_t stages_ = 0;
  std::uint64_t microbatches_ = 0;
  std::vector<std::uint32_t> table_;  // row + 1; empty: there is the map
  std::unordered_map<std::uint64_t, std::uint32_t> map_;
};

// Who comes before whom in a trace: the order of each device, and which pass makes the input of
// which. Needs the trace while it lives.
class TraceIndex {
 public:
  // Whoever asks only one thing of a trace may hand over the trace itself.
  TraceIndex(const trace::Trace& trace);
  const trace::Trace& trace() const { return trace_; }

  const std::vector<PassUnit>& units() const { return units_; }  // of one device in order of time
  std::size_t unit_of(std::size_t pass) const { return unit_of_[pass]; }
  const std::vector<std::uint32_t>& units_on(std::uint32_t device) const {
    return units_on_[device];
  }
  // Both in order of their ends.
  const std::vector<const trace::StepRow*>& steps_on(std::uint32_t device) const {
    return steps_on_[device];
  }
  const std::vector<const trace::CollectiveRow*>& collectives_on(std::uint32_t device) const {
    return collectives_on_[device];
  }
  // The step that is under way, or the next one; or null.
  const trace::StepRow* step_at(std::uint32_t device, double time) const;
  // The step between a unit and the one before it on its device, or null.
  const trace::StepRow* step_before_unit(std::size_t unit) const;

  // The pass that makes the input of another, and the one that takes its output; or no_row.
  std::size_t producer(const trace::PassRow& pass) const;
  std::size_t consumer(const trace::PassRow& pass) const;
  // The row of the transfer of its input, or no_row.
  std::size_t transfer_to(const trace::PassRow& pass) const;
  // Of the table `paths`, or null. `stage` is 0 for boundary tensors.
  const trace::PathRow* path(trace::TrafficClass traffic, std::uint32_t source,
                             std::uint32_t destination, std::uint32_t stage) const;
  const trace::PathRow* path_of_output(std::size_t pass) const;

  // Seconds of a pass in which it waits for collectives within it, at the most its own; and all of
  // its own: half of a fused pair's, since the trace does not say who has how much.
  double exposed_within(std::size_t pass) const;
  double own_seconds(std::size_t pass) const;
  double makespan() const { return makespan_; }  // as metrics.md says
  // Whether the trace says when inputs arrived, which measured runs do not.
  bool knows_inputs() const { return knows_inputs_; }

 private:
  // The step that ended last of those that ended before `time`, or null.
  const trace::StepRow* step_before(std::uint32_t device, double time) const;
  void add_units();
  void add_passes();

  const trace::Trace& trace_;
  std::vector<PassUnit> units_;
  std::vector<std::uint32_t> unit_of_;                // of each pass
  std::vector<std::vector<std::uint32_t>> units_on_;  // by device
  std::vector<std::vector<const trace::StepRow*>> steps_on_;
  std::vector<std::vector<const trace::CollectiveRow*>> collectives_on_;
  RowsByPlace forwards_, gradients_;                       // passes; W is not among them
  RowsByPlace activation_transfers_, gradient_transfers_;  // by what produces them
  using Way = std::tuple<trace::TrafficClass, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<Way, const trace::PathRow*> paths_;
  std::vector<std::array<double, trace::pass_kinds>> in_passes_;  // by stage
  std::vector<std::array<double, trace::pass_kinds>> in_pairs_;   // likewise, of fused pairs
  double makespan_ = 0;
  bool knows_inputs_ = false;
};

}  // namespace pipewright::analysis
