#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "analysis/comm/measurement.hpp"

namespace pipewright::analysis {

// What logs leave unsaid, or say wrongly. Taken for all tables whose numbers allow it.
struct LogHints {
  std::optional<Operation> operation;
  std::optional<std::uint32_t> ranks;
  std::optional<std::uint32_t> nodes;
};

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
