#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/marked_devices.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A measured pass with all that tells it from the others.
struct NumberedPass {
  std::uint32_t device = 0;
  std::uint64_t iteration = 0;  // as the profile numbers them, at first
  std::uint32_t stage = 0;
  std::uint32_t microbatch = 0;  // of the iteration
  trace::PassKind kind = trace::PassKind::forward;
  double start_us = 0;
  double end_us = 0;
};

// Gives every pass its iteration and microbatch. Iterations are the profiler's steps; without
// those, the n-th time that a microbatch is named; without numbers in names, so many passes of a
// kind
// (`microbatches`), or all passes are one. Two of a fused pair stand next to each other. Passes
// before the first step are left out; `notes` says how many.
std::vector<NumberedPass> number_passes(const std::vector<MarkedDevice>& devices,
                                        std::optional<std::uint32_t> microbatches,
                                        std::vector<std::string>& notes);

// Leaves out iterations that are not whole, and the first `skip` of the others; numbers those that
// stay from 0, and says what it left out. Returns the microbatches of an iteration. Throws
// trace::TraceError where nothing stays, or a pass is there twice.
std::uint32_t keep_whole_iterations(std::vector<NumberedPass>& passes, std::uint32_t skip,
                                    const std::vector<MarkedDevice>& devices,
                                    std::vector<std::string>& notes);

// "F of microbatch 3 on stage 1"
std::string describe(const NumberedPass& pass);

}  // namespace pipewright::analysis
