#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// What makes a pass of one run the same as a pass of another.
struct PassKey {
  std::uint32_t iteration = 0;
  std::uint32_t microbatch = 0;  // or slice, counted over all iterations
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;

  auto operator<=>(const PassKey&) const = default;
};

// The part of a pass that comparisons need, small enough to keep millions.
struct TimedPass {
  PassKey key;
  std::uint32_t device = 0;
  double start = 0;  // seconds
  double end = 0;
};

TimedPass timed(const trace::PassRow& row);

std::string pass_letter(trace::PassKind kind);  // "F"
std::string describe(const PassKey& key);       // "F of microbatch 3 on stage 1"

// How long the passes of one kind on one stage take, in seconds.
struct PassTime {
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;
  std::uint64_t passes = 0;
  double mean = 0;
  double median = 0;
  double deviation = 0;  // standard deviation
  double least = 0;
  double most = 0;
  bool only_in_pairs = false;  // each ran as one with another, and took the time of both
};

// By stage and kind; passes of a device in order of time. A fused forward and backward take the
// time of both: they count only where a stage has no others of the kind.
std::vector<PassTime> pass_times(std::span<const TimedPass> passes);

ReportColumns<PassKey> pass_columns();  // stage, kind, microbatch, iteration

}  // namespace pipewright::analysis
