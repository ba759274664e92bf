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

// The passes of each device in order of time; they point into the trace.
std::vector<std::vector<const trace::PassRow*>> passes_by_device(const trace::Trace& trace);

// Neighbours on a device that ran as one op: a forward and a backward of different microbatches.
inline bool are_fused(const trace::PassRow& a, const trace::PassRow& b) {
  return a.start == b.start && a.end == b.end && a.start < a.end;
}

// Of the height of a row; the two passes of a fused pair share it, the forward above.
enum class Part : std::uint8_t { whole, upper, lower };

// A rectangle of a device's row, in the units of the picture from the time axis's origin.
struct Box {
  double left;
  double right;
  Colour colour;
  const trace::PassRow* pass;  // nullptr: a blend of several passes
  Part part = Part::whole;
};

// A pass narrower than `grain` gets no box of its own: what is in each such cell of the grid blends
// with `idle` by the time that it takes, and equal neighbours become one box. So a row has at most
// width / grain blends, however many passes it has.
std::vector<Box> row_boxes(std::span<const trace::PassRow* const> passes, std::uint32_t chunks,
                           double units_per_s, double grain, Colour idle);

// How the boxes of a run are labelled: in one size, and a kind of pass as a whole or not at all.
struct LabelStyle {
  double size = 0;       // of the font, points
  double half_size = 0;  // in boxes of half a row's height; 0: none there
  std::array<bool, trace::pass_kinds> kinds{};

  bool of(trace::PassKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  bool any() const;
};

// A label fits when its box leaves a point beside it.
bool label_fits(std::uint32_t microbatch, double size, double box_width);

LabelStyle label_style(const trace::Trace& run, double units_per_s, double box_height);

inline constexpr double page_margin = 14;  // points, as all lengths here

// Where one run goes: its title stands on `title`, its rows from `top` to `bottom`.
struct PanelPlace {
  double title;
  double top;
  double bottom;
  double row_height;  // of a device, with the gap below it
  double row_gap;
  double strip;            // of its height at the foot of each row, for collectives
  std::uint32_t labelled;  // every so many-th device has its label
  LabelStyle labels;       // of its boxes
};

// What there is to explain.
struct LegendContent {
  std::set<trace::PassKind> kinds;
  std::uint32_t chunks = 1;
  bool blocked_sends = false;
  bool pairs = false;    // of passes that run as one
  bool numbers = false;  // on the boxes
  std::set<trace::CollectiveKind> collectives;
  bool steps = false;  // of an optimizer
  double left;
  double baseline;

  bool has_second_line() const { return steps || !collectives.empty(); }
};

struct Layout {
  double width;
  double height;
  double left;   // where the time axis begins,
  double right;  // and ends
  double units_per_s;
  double grain;    // a box is at least so wide
  double subject;  // the baseline of what was run
  LegendContent legend;
  std::vector<PanelPlace> panels;
  double axis_top;
  TimeTicks ticks;
};

Layout lay_out(std::span<const trace::Trace> runs, std::span<const Summary> summaries);

// "device 3", with the host where it is short enough to stand in the margin.
struct DeviceLabel {
  std::string device;
  std::string host;
};
DeviceLabel device_label(const trace::DeviceRow& device);

}  // namespace pipewright::analysis
