#pragma once

#include <filesystem>
#include <span>

#include "analysis/timeline/drawing.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Where the time goes (TimeSplit): of one run a bar for each device, of several a bar for each run,
// with the mean of its devices. Like draw_timeline in all else.
void draw_bubbles(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                  PictureKind kind);

}  // namespace pipewright::analysis
