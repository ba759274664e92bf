#include "analysis/trace/first_iterations.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::trace {

Trace first_iterations(Trace trace, std::uint32_t iterations) {
  const std::uint32_t end_microbatch =
      trace.run.microbatches * std::max(1U, trace.run.slices) * iterations;
  const auto is_later = [&](const auto& row) { return row.iteration >= iterations; };
  std::erase_if(trace.passes, is_later);
  std::erase_if(trace.collectives, is_later);
  std::erase_if(trace.steps, is_later);
  std::erase_if(trace.waits, is_later);
  std::erase_if(trace.transfers,
                [&](const TransferRow& row) { return row.microbatch >= end_microbatch; });
  double cut_s = 0;
  for (const PassRow& row : trace.passes) cut_s = std::max(cut_s, row.released);
  for (const StepRow& row : trace.steps) cut_s = std::max(cut_s, row.end);
  for (const WaitRow& row : trace.waits) cut_s = std::max(cut_s, row.time);
  std::erase_if(trace.memory, [&](const MemoryRow& row) { return row.time > cut_s; });
  std::erase_if(trace.link_use, [&](const LinkUseRow& row) { return row.start >= cut_s; });
  // A period that spans the cut keeps only its part before the cut.
  for (LinkUseRow& row : trace.link_use) {
    if (row.end <= cut_s) continue;
    const double share = (cut_s - row.start) / (row.end - row.start);
    row.bytes = static_cast<std::uint64_t>(static_cast<double>(row.bytes) * share);
    row.flows *= share;
    row.waited *= share;
    row.end = cut_s;
  }
  // These rows sum over all planned iterations, so they are scaled down to the iterations kept.
  const double share = static_cast<double>(iterations) / std::max(1U, trace.run.iterations);
  for (PassCollectiveRow& row : trace.pass_collectives) {
    row.calls = static_cast<std::uint64_t>(std::llround(static_cast<double>(row.calls) * share));
    row.bytes = static_cast<std::uint64_t>(std::llround(static_cast<double>(row.bytes) * share));
    row.seconds *= share;
    row.exposed *= share;
  }
  trace.run.iterations = iterations;
  return trace;
}

}  // namespace pipewright::trace
