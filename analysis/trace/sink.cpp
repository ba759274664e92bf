#include "analysis/trace/sink.hpp"

namespace pipewright::trace {

void replay(const Trace& trace, Sink& sink) {
  sink.begin(trace.run, trace.devices, trace.stages);
  for (const PassRow& row : trace.passes) sink.pass(row);
  for (const TransferRow& row : trace.transfers) sink.transfer(row);
  for (const MemoryRow& row : trace.memory) sink.memory(row);
  for (const CollectiveRow& row : trace.collectives) sink.collective(row);
  for (const StepRow& row : trace.steps) sink.step(row);
  for (const LinkRow& row : trace.links) sink.link(row);
  for (const LinkUseRow& row : trace.link_use) sink.link_use(row);
  for (const PathRow& row : trace.paths) sink.path(row);
  sink.finish();
}

}  // namespace pipewright::trace
