#pragma once

#include "analysis/report/search/rows.hpp"
#include "analysis/trace/sink.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::evaluation {

// Counts the nodes that the job's GPUs occupy, and all nodes of its cluster. Of a cluster's node
// with several hosts, such as an NVL72 rack, each host with its GPUs is a node. On an ideal
// network, nodes are assumed to have 8 GPUs.
analysis::Site site_of(const Hardware& hardware);

// Trace sink that adds up the bytes sent over the network: transfers between stages and collectives
// over replicas, but not the collectives inside passes, which stay within a node.
class TrafficSink final : public trace::Sink {
 public:
  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override {}
  void transfer(const trace::TransferRow& row) override { add(row.bytes, 1); }
  void memory(const trace::MemoryRow&) override {}
  void collective(const trace::CollectiveRow& row) override {
    // A ring sends each byte of an all-reduce twice.
    add(row.bytes, row.kind == trace::CollectiveKind::gather_weights ? 1 : 2);
  }
  void step(const trace::StepRow&) override {}
  void finish() override {}

  // Bytes sent in one iteration, over all copies of the pipeline.
  double bytes(const config::Scenario& scenario, const Hardware& hardware) const;

 private:
  void add(std::uint64_t bytes, double times) { bytes_ += static_cast<double>(bytes) * times; }
  double bytes_ = 0;
};

}  // namespace pipewright::evaluation
