#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"

namespace pipewright::trace {

// Feeds a trace file (format.md) to a sink, with one chunk of a table in memory at a time: begin(),
// all passes, all transfers, all memory rows, ..., finish(). Within a table, rows of one device are
// in order of time. Every row is checked; anything invalid throws TraceError.
void replay(const std::filesystem::path& path, Sink& sink);

// Returns the number of rows of all tables that replay() reads row by row.
std::uint64_t count_rows(const std::filesystem::path& path);

Trace read_trace(const std::filesystem::path& path);

// Checks that rows from a file or another program are consistent with their run. error_in() returns
// a message such as "device is 9; expected less than 8", or no value for a valid row.
class RowChecks {
 public:
  explicit RowChecks(const RunInfo& run);

  // Rows of stages must be checked first, since other rows refer to them.
  std::optional<std::string> error_in(const StageRow& row);
  std::optional<std::string> error_in(const PassCollectiveRow& row) const;
  std::optional<std::string> error_in(const PassRow& row);
  std::optional<std::string> error_in(const TransferRow& row);
  std::optional<std::string> error_in(const MemoryRow& row);
  std::optional<std::string> error_in(const CollectiveRow& row) const;
  std::optional<std::string> error_in(const StepRow& row) const;
  std::optional<std::string> error_in(const WaitRow& row) const;
  // Rows of links must be checked before the rows that refer to them.
  std::optional<std::string> error_in(const LinkRow& row);
  std::optional<std::string> error_in(const LinkUseRow& row) const;
  std::optional<std::string> error_in(const PathRow& row) const;

 private:
  std::uint32_t devices_;
  std::uint32_t chunks_;
  std::uint32_t iterations_;
  std::uint32_t replicas_;
  std::uint64_t microbatches_;  // Microbatches of all iterations.
  std::uint64_t stages_ = 0;
  std::uint32_t links_ = 0;
  struct Span {
    double start = 0;
    double end = 0;
    PassKind kind = PassKind::forward;
    std::uint32_t microbatch = 0;
  };
  std::vector<Span> previous_;       // Previous pass, by device.
  std::vector<double> memory_time_;  // Time of the previous memory row, by device.
};

}  // namespace pipewright::trace
