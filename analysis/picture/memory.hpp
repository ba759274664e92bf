#pragma once

#include <filesystem>
#include <span>

#include "analysis/timeline/drawing.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Memory over time, stacked by component: of one run a panel for each device (of very many, for
// some of them and the fullest), of several runs the fullest device of each. Runs without any
// memory are a TraceError. Like draw_timeline in all else.
void draw_memory(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                 PictureKind kind);

}  // namespace pipewright::analysis
