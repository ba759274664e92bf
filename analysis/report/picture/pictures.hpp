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

// The pictures of runs. Each file appears under its name once it is whole; one that cannot be
// written is a TraceError. All kinds of file show the same drawing.
namespace pipewright::analysis {

struct TimeSplit;

// The timelines of runs below one another on a common time axis: a row a device, a box a pass.
void draw_timeline(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                   PictureKind kind);

// Where the time goes (TimeSplit): of one run a bar for each device, of several a bar for each run,
// with the mean of its devices.
void draw_bubbles(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                  PictureKind kind);

// The parts of a bar in its order, as the mean of these devices: seconds.
using BarParts = std::array<double, 11>;
BarParts mean_parts(std::span<const TimeSplit> devices);

// Memory over time, stacked by component: of one run a panel for each device (of very many, for
// some of them and the fullest), of several runs the fullest device of each. Runs without any
// memory are a TraceError.
void draw_memory(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                 PictureKind kind);

// What memory buys: throughput against the memory peak of the fullest device, a dot a run, and a
// line through those that no other run beats in both. Runs that do not fit are marked and stand
// behind. Where nothing is known of memory or samples, microbatches in flight and microbatches/s
// stand for them.
void draw_tradeoff(std::span<const Summary> runs, const std::filesystem::path& file,
                   PictureKind kind);

// The memory and throughput of runs, and which of them are on the line, by memory.
struct TradeoffPoint {
  double memory = 0;
  double throughput = 0;
  bool fits = true;
};
std::vector<std::size_t> best_of(std::span<const TradeoffPoint> points);

// The best that was found within so much memory, and what no schedule can beat there. Memory is in
// any unit; bubbles are ratios, 1 - busy / (devices x makespan).
struct FrontierPoint {
  double memory = 0;
  double bubble_ratio = 0;
  double lower_bound = 0;
  std::string label;  // may be empty
};

// A schedule that has a name of its own.
struct NamedPoint {
  std::string name;
  double memory = 0;
  double bubble_ratio = 0;
};

struct FrontierWords {
  std::string title;
  std::string details;                                            // beside the title
  std::string memory = "peak memory (microbatches of a device)";  // what the axis shows, with unit
};

// What giving up memory costs: bubble ratio against memory, the points as a stepped line, their
// lower bounds as a dashed one, named schedules as dots.
void draw_frontier(std::span<const FrontierPoint> points, std::span<const NamedPoint> named,
                   const FrontierWords& words, const std::filesystem::path& file, PictureKind kind);

}  // namespace pipewright::analysis
