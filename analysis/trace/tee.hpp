#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/trace/sink.hpp"

namespace pipewright::trace {

// Passes everything on to several sinks, in their order. They outlive it.
class Tee final : public Sink {
 public:
  explicit Tee(std::vector<Sink*> sinks) : sinks_(std::move(sinks)) {}

  void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
             const std::vector<StageRow>& stages) override {
    for (Sink* sink : sinks_) sink->begin(run, devices, stages);
  }
  void pass(const PassRow& row) override {
    for (Sink* sink : sinks_) sink->pass(row);
  }
  void transfer(const TransferRow& row) override {
    for (Sink* sink : sinks_) sink->transfer(row);
  }
  void memory(const MemoryRow& row) override {
    for (Sink* sink : sinks_) sink->memory(row);
  }
  void collective(const CollectiveRow& row) override {
    for (Sink* sink : sinks_) sink->collective(row);
  }
  void step(const StepRow& row) override {
    for (Sink* sink : sinks_) sink->step(row);
  }
  bool wants_links() const override {
    return std::ranges::any_of(sinks_, [](const Sink* sink) { return sink->wants_links(); });
  }
  void link(const LinkRow& row) override {
    for (Sink* sink : sinks_) sink->link(row);
  }
  void link_use(const LinkUseRow& row) override {
    for (Sink* sink : sinks_) sink->link_use(row);
  }
  void path(const PathRow& row) override {
    for (Sink* sink : sinks_) sink->path(row);
  }
  void finish() override {
    for (Sink* sink : sinks_) sink->finish();
  }

 private:
  std::vector<Sink*> sinks_;
};

}  // namespace pipewright::trace
