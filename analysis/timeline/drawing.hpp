#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

enum class PictureKind : std::uint8_t { svg, png, pdf };

// Draws the timelines of runs below one another on a common time axis: a row a device, a box a
// pass. All kinds of file show the same drawing. The file appears under its name once it is whole;
// one that cannot be written is a TraceError.
void draw_timeline(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                   PictureKind kind);

}  // namespace pipewright::analysis
