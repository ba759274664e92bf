#pragma once

#include "analysis/report/search/rows.hpp"
#include "analysis/trace/sink.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::evaluation {

// The nodes that a layout has GPUs of, and those of its cluster. Where no cluster says what a node
// is it has 8 GPUs.
analysis::Site site_of(const Hardware& hardware);

// What stages send each other and replicas reduce and gather, which goes to the network; what
// passes say within a node does not.
class TrafficSink final : public trace::Sink {
 public:
  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override {}
  void transfer(const trace::TransferRow& row) override { add(row.bytes, 1); }
  void memory(const trace::MemoryRow&) override {}
  void collective(const trace::CollectiveRow& row) override {
    // A ring passes an all-reduce twice.
    add(row.bytes, row.kind == trace::CollectiveKind::gather_weights ? 1 : 2);
  }
  void step(const trace::StepRow&) override {}
  void finish() override {}

  // Of an iteration, all copies of the pipeline together.
  double bytes(const config::Scenario& scenario, const Hardware& hardware) const;

 private:
  void add(std::uint64_t bytes, double times) { bytes_ += static_cast<double>(bytes) * times; }
  double bytes_ = 0;
};

}  // namespace pipewright::evaluation
