#pragma once

#include <filesystem>
#include <span>

#include "analysis/palette.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Draws the timelines of runs below one another on a common time axis: a row a device, a box a
// pass. All kinds of file show the same drawing. The file appears under its name once it is whole;
// one that cannot be written is a TraceError.
void draw_timeline(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                   PictureKind kind);

}  // namespace pipewright::analysis
