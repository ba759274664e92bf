#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/palette.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/trace/rows.hpp"

// Pictures of runs. A file appears under its name only once it is complete; a file that cannot be
// written throws TraceError. All formats show the same drawing.
namespace pipewright::analysis {

struct TimeSplit;

// Draws the timelines of runs below one another on a common time axis: one row per device, one box
// per pass.
void draw_timeline(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                   PictureKind kind);

// Draws how the time is spent (TimeSplit): one bar per device for a single run, or one bar per run
// with the mean of its devices for several runs.
void draw_bubbles(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                  PictureKind kind);

// Seconds of the eleven kinds of time that make up a bar, in the order of its segments.
using BarParts = std::array<double, 12>;
BarParts mean_parts(std::span<const TimeSplit> devices);

// Draws memory over time, stacked by component: one panel per device for a single run (if there are
// very many, a sample and the fullest), or the fullest device of each run for several runs. Throws
// TraceError if no run has any memory.
void draw_memory(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                 PictureKind kind);

// Draws throughput against the memory peak of the fullest device: one dot per run, and a line
// through the runs on the Pareto front. Runs that do not fit are marked and not part of the line.
// If memory or samples are unknown, microbatches in flight and microbatches/s replace them.
void draw_tradeoff(std::span<const Summary> runs, const std::filesystem::path& file,
                   PictureKind kind);

// Peak memory and throughput of a run, one dot of the picture.
struct TradeoffPoint {
  double memory = 0;
  double throughput = 0;
  bool fits = true;
};
// Returns the indices of the points on the Pareto front, ordered by memory.
std::vector<std::size_t> pareto_front(std::span<const TradeoffPoint> points);

// Best bubble ratio found within a memory limit, and a lower bound of the bubble ratio of every
// schedule within that limit. Memory is in any unit; bubbles are ratios, 1 - busy / (devices x
// makespan).
struct FrontierPoint {
  double memory = 0;
  double bubble_ratio = 0;
  double lower_bound = 0;
  std::string label;  // May be empty.
};

// A known schedule such as 1f1b, drawn as a dot with its name.
struct NamedPoint {
  std::string name;
  double memory = 0;
  double bubble_ratio = 0;
};

struct FrontierWords {
  std::string title;
  std::string details;  // Text beside the title.
  // Title of the memory axis, including the unit.
  std::string memory = "peak memory (microbatches of a device)";
};

// Draws the cost of giving up memory: bubble ratio against memory, with the points as a stepped
// line, their lower bounds as a dashed line, and named schedules as dots.
void draw_frontier(std::span<const FrontierPoint> points, std::span<const NamedPoint> named,
                   const FrontierWords& words, const std::filesystem::path& file, PictureKind kind);

}  // namespace pipewright::analysis
