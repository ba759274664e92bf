#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

// Whether rows that came from outside make sense within their run. What is wrong with a row reads
// "device is 9, but the run has 8"; nothing otherwise.
class RowChecks {
 public:
  explicit RowChecks(const RunInfo& run);

  // Stages come first: they say how many there are.
  std::optional<std::string> wrong(const StageRow& row);
  std::optional<std::string> wrong(const PassCollectiveRow& row) const;
  std::optional<std::string> wrong(const PassRow& row);
  std::optional<std::string> wrong(const TransferRow& row);
  std::optional<std::string> wrong(const MemoryRow& row);
  std::optional<std::string> wrong(const CollectiveRow& row) const;
  std::optional<std::string> wrong(const StepRow& row) const;
  // Links come before what names them.
  std::optional<std::string> wrong(const LinkRow& row);
  std::optional<std::string> wrong(const LinkUseRow& row) const;
  std::optional<std::string> wrong(const PathRow& row) const;

 private:
  std::uint32_t devices_;
  std::uint32_t chunks_;
  std::uint32_t iterations_;
  std::uint64_t microbatches_;  // of all iterations
  std::uint64_t stages_ = 0;
  std::uint32_t links_ = 0;
  struct Span {
    double start = 0;
    double end = 0;
    PassKind kind = PassKind::forward;
  };
  std::vector<Span> previous_;       // by device, of the row before
  std::vector<double> memory_time_;  // likewise
};

}  // namespace pipewright::trace
