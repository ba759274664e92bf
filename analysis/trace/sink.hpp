#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::trace {

// Receiver of the rows of a running engine. `begin` is called first and once; rows of one device
// arrive in order of time; `finish` is called last, and only after a successful run.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
                     const std::vector<StageRow>& stages) = 0;
  virtual void pass_collective(const PassCollectiveRow&) {}  // Called before passes.
  virtual void pass(const PassRow& row) = 0;
  virtual void transfer(const TransferRow& row) = 0;
  virtual void memory(const MemoryRow& row) = 0;
  virtual void collective(const CollectiveRow&) {}  // Data-parallel runs only.
  virtual void step(const StepRow&) {}              // Runs with an optimizer only.
  virtual void wait(const WaitRow&) {}              // Only runs in which replicas differ.
  // Traffic of links, reported at the end of a run. An engine records it only if needs_links().
  virtual bool needs_links() const { return false; }
  virtual void link(const LinkRow&) {}
  virtual void link_use(const LinkUseRow&) {}
  virtual void path(const PathRow&) {}
  virtual void finish() = 0;
};

// Stores a whole trace in memory.
class TraceCollector final : public Sink {
 public:
  void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
             const std::vector<StageRow>& stages) override {
    trace = {};
    trace.run = run;
    trace.devices = devices;
    trace.stages = stages;
  }
  void pass_collective(const PassCollectiveRow& row) override {
    trace.pass_collectives.push_back(row);
  }
  void pass(const PassRow& row) override { trace.passes.push_back(row); }
  void transfer(const TransferRow& row) override { trace.transfers.push_back(row); }
  void memory(const MemoryRow& row) override { trace.memory.push_back(row); }
  void collective(const CollectiveRow& row) override { trace.collectives.push_back(row); }
  void step(const StepRow& row) override { trace.steps.push_back(row); }
  void wait(const WaitRow& row) override { trace.waits.push_back(row); }
  bool needs_links() const override { return true; }
  void link(const LinkRow& row) override { trace.links.push_back(row); }
  void link_use(const LinkUseRow& row) override { trace.link_use.push_back(row); }
  void path(const PathRow& row) override { trace.paths.push_back(row); }
  void finish() override {}

  Trace trace;
};

// Feeds a trace in memory to a sink, as an engine would.
inline void replay(const Trace& trace, Sink& sink) {
  sink.begin(trace.run, trace.devices, trace.stages);
  for (const PassCollectiveRow& row : trace.pass_collectives) sink.pass_collective(row);
  for (const PassRow& row : trace.passes) sink.pass(row);
  for (const TransferRow& row : trace.transfers) sink.transfer(row);
  for (const MemoryRow& row : trace.memory) sink.memory(row);
  for (const CollectiveRow& row : trace.collectives) sink.collective(row);
  for (const StepRow& row : trace.steps) sink.step(row);
  for (const WaitRow& row : trace.waits) sink.wait(row);
  for (const LinkRow& row : trace.links) sink.link(row);
  for (const LinkUseRow& row : trace.link_use) sink.link_use(row);
  for (const PathRow& row : trace.paths) sink.path(row);
  sink.finish();
}

// Passes everything on to several sinks, in their order. The sinks must outlive it.
class Tee final : public Sink {
 public:
  explicit Tee(std::vector<Sink*> sinks) : sinks_(std::move(sinks)) {}

  void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
             const std::vector<StageRow>& stages) override {
    for (Sink* sink : sinks_) sink->begin(run, devices, stages);
  }
  void pass_collective(const PassCollectiveRow& row) override {
    forward(&Sink::pass_collective, row);
  }
  void pass(const PassRow& row) override { forward(&Sink::pass, row); }
  void transfer(const TransferRow& row) override { forward(&Sink::transfer, row); }
  void memory(const MemoryRow& row) override { forward(&Sink::memory, row); }
  void collective(const CollectiveRow& row) override { forward(&Sink::collective, row); }
  void step(const StepRow& row) override { forward(&Sink::step, row); }
  void wait(const WaitRow& row) override { forward(&Sink::wait, row); }
  bool needs_links() const override {
    return std::ranges::any_of(sinks_, [](const Sink* sink) { return sink->needs_links(); });
  }
  void link(const LinkRow& row) override { forward(&Sink::link, row); }
  void link_use(const LinkUseRow& row) override { forward(&Sink::link_use, row); }
  void path(const PathRow& row) override { forward(&Sink::path, row); }
  void finish() override {
    for (Sink* sink : sinks_) sink->finish();
  }

 private:
  template <class Row>
  void forward(void (Sink::*take)(const Row&), const Row& row) {
    for (Sink* sink : sinks_) (sink->*take)(row);
  }
  std::vector<Sink*> sinks_;
};

}  // namespace pipewright::trace
