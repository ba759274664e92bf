#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Returns the passes of each device in order of time, as pointers into the trace.
std::vector<std::vector<const trace::PassRow*>> passes_by_device(const trace::Trace& trace);

// Returns true if two neighbouring passes of a device ran as one operation: a fused pair, usually a
// forward and a backward pass of different microbatches.
inline bool are_fused(const trace::PassRow& a, const trace::PassRow& b) {
  return a.start == b.start && a.end == b.end && a.start < a.end;
}

// Part of a row's height that a box takes. The two passes of a fused pair share the height, the
// forward pass above.
enum class Part : std::uint8_t { whole, upper, lower };

// A rectangle in a device's row. Lengths are in units of the picture, from the origin of the time
// axis.
struct Box {
  double left;
  double right;
  Colour colour;
  const trace::PassRow* pass;  // nullptr if the box blends several passes.
  Part part = Part::whole;
};

// Returns the boxes of a row. A pass narrower than `grain` gets no box of its own: in each such
// cell of the grid, passes blend with `idle` in proportion to their time, and equal neighbours
// become one box. So a row has at most width / grain blends, however many passes it has.
std::vector<Box> row_boxes(std::span<const trace::PassRow* const> passes, std::uint32_t chunks,
                           double units_per_s, double grain, Colour idle);

// Font sizes of the labels in a run's boxes, and the kinds of passes that have labels: either all
// passes of a kind have one, or none.
struct LabelStyle {
  double size = 0;       // Font size, in points.
  double half_size = 0;  // Font size in boxes of half a row's height; 0 if these have no labels.
  std::array<bool, trace::pass_kinds> kinds{};

  bool has(trace::PassKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  bool has_labels() const;
};

// Returns true if the label is at least a point narrower than its box.
bool label_fits(std::uint32_t microbatch, double size, double box_width);

LabelStyle label_style(const trace::Trace& run, double units_per_s, double box_height);

inline constexpr double page_margin = 14;  // All lengths are in points.

// Vertical positions of one run's timeline: the base line of its title, and its rows from `top` to
// `bottom`.
struct PanelLayout {
  double title;
  double top;
  double bottom;
  double row_height;  // Height of a device's row, including the gap below it.
  double row_gap;
  double strip;              // Height of the strip for collectives at the foot of each row.
  std::uint32_t label_step;  // Every label_step-th device has a label.
  LabelStyle labels;         // Labels of the boxes.
};

// Features that some run has and that the legend must therefore explain.
struct LegendContent {
  std::set<trace::PassKind> kinds;
  std::uint32_t chunks = 1;
  bool blocked_sends = false;
  bool fused_pairs = false;
  bool microbatch_numbers = false;
  bool whole_microbatches = false;  // Numbers of a run count microbatches.
  bool slices = false;              // Numbers of a run count slices of microbatches.
  std::set<trace::CollectiveKind> collectives;
  bool optimizer_steps = false;
  double left;
  double baseline;

  bool has_second_line() const { return optimizer_steps || !collectives.empty(); }
};

struct TimelineLayout {
  double width;
  double height;
  double left;   // Start of the time axis.
  double right;  // End of the time axis.
  double units_per_s;
  double grain;    // Smallest width of a box.
  double subject;  // Base line of the subject.
  LegendContent legend;
  std::vector<PanelLayout> panels;
  double axis_top;
  TimeTicks ticks;
};

TimelineLayout lay_out_timeline(std::span<const trace::Trace> runs,
                                std::span<const Summary> summaries);

// Label of a device's row: "device 3", and the host name if it is short enough for the margin.
struct DeviceLabel {
  std::string device;
  std::string host;
};
DeviceLabel device_label(const trace::DeviceRow& device);

}  // namespace pipewright::analysis
