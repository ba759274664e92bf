#pragma once

#include <filesystem>
#include <span>

#include "analysis/commlogs/measurement.hpp"

namespace pipewright::analysis {

// Reads the output of nccl-tests (or rccl-tests, or nccl-tests -J) and of the OSU micro-benchmarks:
// one table or several per file, with any noise around them, packed by gzip or not.
//
// Remarks tell what was left out: rows without a time (N/A, NaN, 0), rows that move nothing or are
// damaged, and tables whose operation or number of ranks neither the log nor `hints` give. Remarks
// also tell what was inferred, and where times drop while sizes grow.
//
// Throws trace::TraceError, "FILE:LINE: message", for a file without usable rows, for impossible
// values (below 0, beyond 64 bits), and if rows of several runs are mixed.
MeasurementLog read_logs(std::span<const std::filesystem::path> files, const LogHints& hints = {});

}  // namespace pipewright::analysis
