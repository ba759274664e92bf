#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/marked_devices.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A measured pass with everything that identifies it.
struct NumberedPass {
  std::uint32_t device = 0;
  std::uint64_t iteration = 0;  // Numbered as in the profile at first.
  std::uint32_t stage = 0;
  std::uint32_t microbatch = 0;  // Number within the iteration.
  trace::PassKind kind = trace::PassKind::forward;
  double start_us = 0;
  double end_us = 0;
};

// Gives every pass its iteration and microbatch. Iterations are the steps of the profiler; without
// steps, the n-th occurrence of a microbatch belongs to iteration n; without numbers in names,
// `microbatches` passes of a kind form an iteration, or all passes do. The passes of a fused pair
// are adjacent. Passes before the first step are left out, and a note says how many.
std::vector<NumberedPass> number_passes(const std::vector<MarkedDevice>& devices,
                                        std::optional<std::uint32_t> microbatches,
                                        std::vector<std::string>& notes);

// Leaves out incomplete iterations and the first `skip` complete ones, numbers the others from 0,
// and adds notes on those left out. Returns the number of microbatches of an iteration. Throws
// trace::TraceError if no iteration remains or a pass occurs twice.
std::uint32_t drop_partial_iterations(std::vector<NumberedPass>& passes, std::uint32_t skip,
                                      const std::vector<MarkedDevice>& devices,
                                      std::vector<std::string>& notes);

// Returns a description of a pass: "F of microbatch 3 on stage 1".
std::string describe(const NumberedPass& pass);

}  // namespace pipewright::analysis
