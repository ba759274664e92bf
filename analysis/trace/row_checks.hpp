#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::trace {

// Whether rows that came from outside make sense within their run. What is wrong with a row reads
// "device is 9, but the run has 8"; nothing otherwise.
class RowChecks {
 public:
  explicit RowChecks(const RunInfo& run);

  // Stages come first: they say how many there are.
  std::optional<std::string> wrong(const StageRow& row);
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
