#include "analysis/trace/first_iterations.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::trace {

Trace first_iterations(Trace trace, std::uint32_t iterations) {
  const std::uint32_t microbatches =
      trace.run.microbatches * std::max(1U, trace.run.slices) * iterations;
  const auto is_later = [&](const auto& row) { return row.iteration >= iterations; };
  std::erase_if(trace.passes, is_later);
  std::erase_if(trace.collectives, is_later);
  std::erase_if(trace.steps, is_later);
  std::erase_if(trace.transfers,
                [&](const TransferRow& row) { return row.microbatch >= microbatches; });
  double end = 0;
  for (const PassRow& row : trace.passes) end = std::max(end, row.released);
  for (const StepRow& row : trace.steps) end = std::max(end, row.end);
  std::erase_if(trace.memory, [&](const MemoryRow& row) { return row.time > end; });
  std::erase_if(trace.link_use, [&](const LinkUseRow& row) { return row.start >= end; });
  // Of a piece that ends later, the part before it.
  for (LinkUseRow& row : trace.link_use) {
    if (row.end <= end) continue;
    const double part = (end - row.start) / (row.end - row.start);
    row.bytes = static_cast<std::uint64_t>(static_cast<double>(row.bytes) * part);
    row.flows *= part;
    row.waited *= part;
    row.end = end;
  }
  // What its passes say together is of all that were foreseen.
  const double part = static_cast<double>(iterations) / std::max(1U, trace.run.iterations);
  for (PassCollectiveRow& row : trace.pass_collectives) {
    row.calls = static_cast<std::uint64_t>(std::llround(static_cast<double>(row.calls) * part));
    row.bytes = static_cast<std::uint64_t>(std::llround(static_cast<double>(row.bytes) * part));
    row.seconds *= part;
    row.exposed *= part;
  }
  trace.run.iterations = iterations;
  return trace;
}

}  // namespace pipewright::trace
