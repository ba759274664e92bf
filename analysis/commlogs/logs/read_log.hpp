#pragma once

#include <filesystem>
#include <span>

#include "analysis/commlogs/measurement.hpp"

namespace pipewright::analysis {

// Reads what nccl-tests (or rccl-tests) and the OSU micro-benchmarks print, with whatever noise
// stands around their tables, one table or several a file; also what nccl-tests write with -J, and
// files that gzip packed. With remarks are left out: rows that say no time (N/A, NaN, 0), move
// nothing or are damaged, and tables whose operation or number of ranks neither they nor `hints`
// tell. Remarks, too, say what was inferred, and where times shrink while sizes grow.
//
// Throws trace::TraceError, "FILE:LINE: what", for a file of which nothing is left, for rows that
// cannot be (below 0, beyond 64 bits), and where rows of several runs are mixed.
MeasurementLog read_logs(std::span<const std::filesystem::path> files, const LogHints& hints = {});

}  // namespace pipewright::analysis
