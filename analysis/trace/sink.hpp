#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::trace {

// Where an engine reports to while it runs. `begin` comes first and once; rows of one device come
// in order of time; `finish` comes last, and only after a run that went well.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
                     const std::vector<StageRow>& stages) = 0;
  virtual void pass_collective(const PassCollectiveRow&) {}  // before passes
  virtual void pass(const PassRow& row) = 0;
  virtual void transfer(const TransferRow& row) = 0;
  virtual void memory(const MemoryRow& row) = 0;
  virtual void collective(const CollectiveRow&) {}  // of data-parallel runs
  virtual void step(const StepRow&) {}              // of runs with an optimizer
  // What links did, at the end of a run; an engine keeps book of it for sinks that want it.
  virtual bool wants_links() const { return false; }
  virtual void link(const LinkRow&) {}
  virtual void link_use(const LinkUseRow&) {}
  virtual void path(const PathRow&) {}
  virtual void finish() = 0;
};

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
  void pass_collective(const PassCollectiveRow& row) override {
    trace.pass_collectives.push_back(row);
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
inline void replay(const Trace& trace, Sink& sink) {
  sink.begin(trace.run, trace.devices, trace.stages);
  for (const PassCollectiveRow& row : trace.pass_collectives) sink.pass_collective(row);
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

// Passes everything on to several sinks, in their order. They outlive it.
class Tee final : public Sink {
 public:
  explicit Tee(std::vector<Sink*> sinks) : sinks_(std::move(sinks)) {}

  void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
             const std::vector<StageRow>& stages) override {
    for (Sink* sink : sinks_) sink->begin(run, devices, stages);
  }
  void pass_collective(const PassCollectiveRow& row) override {
    pass_on(&Sink::pass_collective, row);
  }
  void pass(const PassRow& row) override { pass_on(&Sink::pass, row); }
  void transfer(const TransferRow& row) override { pass_on(&Sink::transfer, row); }
  void memory(const MemoryRow& row) override { pass_on(&Sink::memory, row); }
  void collective(const CollectiveRow& row) override { pass_on(&Sink::collective, row); }
  void step(const StepRow& row) override { pass_on(&Sink::step, row); }
  bool wants_links() const override {
    return std::ranges::any_of(sinks_, [](const Sink* sink) { return sink->wants_links(); });
  }
  void link(const LinkRow& row) override { pass_on(&Sink::link, row); }
  void link_use(const LinkUseRow& row) override { pass_on(&Sink::link_use, row); }
  void path(const PathRow& row) override { pass_on(&Sink::path, row); }
  void finish() override {
    for (Sink* sink : sinks_) sink->finish();
  }

 private:
  template <class Row>
  void pass_on(void (Sink::*take)(const Row&), const Row& row) {
    for (Sink* sink : sinks_) (sink->*take)(row);
  }
  std::vector<Sink*> sinks_;
};

}  // namespace pipewright::trace
