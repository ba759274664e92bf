#pragma once

#include "analysis/trace/sink.hpp"

namespace pipewright::trace {

// Keeps a whole trace in memory.
class TraceCollector final : public Sink {
 public:
  void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
             const std::vector<StageRow>& stages) override {
    trace = {};
    trace.run = run;
    trace.devices = devices;
    trace.stages = stages;
  }
  void pass(const PassRow& row) override { trace.passes.push_back(row); }
  void transfer(const TransferRow& row) override { trace.transfers.push_back(row); }
  void memory(const MemoryRow& row) override { trace.memory.push_back(row); }
  void collective(const CollectiveRow& row) override { trace.collectives.push_back(row); }
  void step(const StepRow& row) override { trace.steps.push_back(row); }
  bool wants_links() const override { return true; }
  void link(const LinkRow& row) override { trace.links.push_back(row); }
  void link_use(const LinkUseRow& row) override { trace.link_use.push_back(row); }
  void path(const PathRow& row) override { trace.paths.push_back(row); }
  void finish() override {}

  Trace trace;
};

// The other way round: a trace in memory as an engine would report it.
void replay(const Trace& trace, Sink& sink);

}  // namespace pipewright::trace
