#pragma once

#include <cstdint>
#include <filesystem>

#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"

namespace pipewright::trace {

// Feeds a trace file (format.md) to a sink, one chunk of a table in memory at a time: begin(), all
// passes, all transfers, all memory rows, finish(). Rows of one device come in order of time within
// each table. Every row is checked to make sense; anything wrong is a TraceError.
void replay(const std::filesystem::path& path, Sink& sink);

// Of all tables that replay() goes through row by row.
std::uint64_t count_rows(const std::filesystem::path& path);

Trace read_trace(const std::filesystem::path& path);

}  // namespace pipewright::trace
