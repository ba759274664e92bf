#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "analysis/timeline/drawing.hpp"

namespace pipewright::analysis {

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
// lower bounds as a dashed one, named schedules as dots. Like draw_timeline in all else.
void draw_frontier(std::span<const FrontierPoint> points, std::span<const NamedPoint> named,
                   const FrontierWords& words, const std::filesystem::path& file, PictureKind kind);

}  // namespace pipewright::analysis
