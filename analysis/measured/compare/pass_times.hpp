#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Key that identifies the same pass in different runs.
struct PassKey {
  std::uint32_t iteration = 0;
  std::uint32_t microbatch = 0;  // or slice; numbered across iterations
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;

  auto operator<=>(const PassKey&) const = default;
};

// The fields of a pass that comparisons need. It is small, since millions are stored.
struct TimedPass {
  PassKey key;
  std::uint32_t device = 0;
  double start = 0;  // seconds
  double end = 0;
};

TimedPass timed(const trace::PassRow& row);

std::string pass_letter(trace::PassKind kind);  // "F"
std::string describe(const PassKey& key);       // "F of microbatch 3 on stage 1"

// Statistics of the durations of all passes of one kind on one stage, in seconds.
struct PassTime {
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;
  std::uint64_t passes = 0;
  double mean = 0;
  double median = 0;
  double deviation = 0;  // standard deviation
  double least = 0;
  double most = 0;
  bool only_in_pairs = false;  // all passes were fused, and their times are those of the pairs
};

// Returns the statistics of pass durations for each stage and kind. `passes` must be in order of
// time on each device. Fused passes only show the time of their pair, so they count only if the
// stage has no other passes of that kind.
std::vector<PassTime> pass_times(std::span<const TimedPass> passes);

ReportColumns<PassKey> pass_columns();  // stage, kind, microbatch, iteration

}  // namespace pipewright::analysis
