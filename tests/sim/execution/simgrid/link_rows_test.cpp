#include "sim/execution/simgrid/link_rows.hpp"

#include <map>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests the link use that a trace stores against values computed by hand.

using namespace pipewright;
using trace::TrafficClass;

namespace {

constexpr double boundary = 0.4e9;  // bytes per lane: 40 ms over a NIC

struct Job : tests::HybridJob {
  Job(std::uint32_t devices, const tests::Layout& layout)
      : HybridJob(schedules::make_schedule("1f1b", {.devices = devices, .microbatches = 4}),
                  layout) {
    costs.boundary_bytes = static_cast<std::uint64_t>(boundary);
  }
};

struct Sums {
  double bytes = 0;
  double waited = 0;
};

// Adds up bytes and times of all links of a class, each row times the number of links that it
// represents.
std::map<std::pair<std::string, TrafficClass>, Sums> by_class(const trace::Trace& trace) {
  std::map<std::pair<std::string, TrafficClass>, Sums> sums;
  for (const trace::LinkUseRow& row : trace.link_use) {
    const trace::LinkRow& link = trace.links.at(row.link);
    Sums& sum = sums[{link.link_class, row.traffic}];
    sum.bytes += static_cast<double>(row.bytes) * link.alike;
    sum.waited += row.waited * link.alike;
  }
  return sums;
}

}  // namespace

TEST_CASE("links carry the traffic of devices by class", "[links]") {
  auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 40});
  for (const bool folds : {true, false}) {
    if (!folds) tests::make_nics_distinct(cluster, 4, 4);
    CAPTURE(folds);
    Job job(2, {.tp = 4, .dp = 2, .zero = 1});
    job.set_parameters(50'000'000);
    const trace::Trace trace = job.run(cluster);
    const auto sums = by_class(trace);
    // There are 4 microbatches x 4 lanes x 2 replicas of tensors, each of which crosses two NICs.
    const double hops = 4 * 4 * 2 * 2 * boundary;
    CHECK(sums.at({"nic", TrafficClass::activation}).bytes == Approx(hops).epsilon(1e-9));
    CHECK(sums.at({"nic", TrafficClass::gradient}).bytes == Approx(hops).epsilon(1e-9));
    CHECK(sums.at({"uplink", TrafficClass::gradient}).bytes == Approx(hops).epsilon(1e-9));
    // A reduce-scatter of two ranks sends half of the gradients, 4 bytes per parameter, from each
    // of 16 GPUs; a gather sends half of the weights, 2 bytes each.
    CHECK(sums.at({"nic", TrafficClass::reduce_gradients}).bytes ==
          Approx(16 * 2 * 50e6 * 4 / 2).epsilon(1e-9));
    CHECK(sums.at({"nic", TrafficClass::gather_weights}).bytes ==
          Approx(16 * 2 * 50e6 * 2 / 2).epsilon(1e-9));
    CHECK(sums.count({"nvlink", TrafficClass::activation}) == 0);
    std::uint32_t links = 0;
    for (const trace::LinkRow& row : trace.links) links += row.alike;
    CHECK(links == 2 * 16 + 2 * 4);  // each NIC and uplink, in both directions
    if (folds) CHECK(trace.links.size() < links);
  }
}

TEST_CASE("links carry collectives of passes, of all replicas, with and without folding",
          "[links]") {
  auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}});
  const auto check = [&](Job& job) {
    job.communication().detail = config::Detail::full;
    job.set_parameters(50'000'000);
    job.add_call(schedules::PassKind::forward,
                 {.group = workload::Group::tp, .bytes = 8'000'000, .times = 3});
    const auto sums = by_class(job.run(cluster));
    // In a ring of n, each of 16 GPUs sends 2 (n-1)/n of the bytes to the next one. They cross its
    // own link and the receiver's.
    CHECK(sums.at({"nvlink", TrafficClass::in_passes}).bytes ==
          Approx(16 * 2 * 3 * 4 * (2 * 3.0 / 4 * 8e6)).epsilon(1e-9));
    CHECK(sums.count({"nic", TrafficClass::in_passes}) == 0);
    CHECK(sums.at({"nic", TrafficClass::reduce_gradients}).bytes ==
          Approx(16 * 2 * 50e6 * 4).epsilon(1e-9));
    CHECK(sums.at({"nic", TrafficClass::activation}).bytes ==
          Approx(4 * 4 * 2 * 2 * boundary).epsilon(1e-9));
  };
  for (const bool symmetric : {false, true}) {
    CAPTURE(symmetric);
    Job job(2, {.tp = 4, .dp = 2});
    job.symmetric = symmetric;
    check(job);
  }
  tests::make_nics_distinct(cluster, 4, 4);
  Job job(2, {.tp = 4, .dp = 2});
  check(job);
}

TEST_CASE("waiting times are attributed to the link that is fully used", "[links]") {
  // Four lanes send at once over an uplink that has the bandwidth of one NIC, so each takes four
  // times as long as alone.
  const auto cluster = tests::make_cluster({.gpus = {4, 4}, .uplink = 10});
  Job job(2, {.tp = 4});
  const trace::Trace trace = job.run(cluster);
  const auto sums = by_class(trace);
  const double alone = boundary / tests::nic;
  // In each of 4 microbatches, 4 flows take four times as long as alone. Their wait counts for both
  // uplinks that they cross.
  const double waited = 2 * 4 * 4 * (4 - 1) * alone;
  CHECK(sums.at({"uplink", TrafficClass::activation}).waited == Approx(waited).epsilon(1e-6));
  CHECK(sums.at({"nic", TrafficClass::activation}).waited == Approx(0).margin(1e-9));
}

TEST_CASE("the uncontended time of a path is the time of its transfers without other traffic",
          "[links]") {
  const auto cluster = tests::make_cluster({.gpus = {4, 4, 4}, .uplink = 20});
  Job job(3, {.tp = 4});
  const trace::Trace trace = job.run(cluster);
  REQUIRE(!trace.transfers.empty());
  REQUIRE(trace.paths.size() == 4);
  for (const trace::TransferRow& row : trace.transfers)
    for (const trace::PathRow& path : trace.paths)
      if (path.source == row.source && path.destination == row.destination) {
        CHECK(row.end - row.start >= path.alone * (1 - 1e-9));
        if (row.microbatch == 0 && row.kind == trace::TransferKind::activation)
          CHECK(row.end - row.start == Approx(path.alone).epsilon(1e-9));
        CHECK(trace.links.at(path.link).link_class == "uplink");
      }
}

TEST_CASE("the path of a collective has its narrowest link and its uncontended time", "[links]") {
  const auto cluster = tests::make_cluster({{1, 1, 1, 1}});
  Job job(1, {.dp = 4});
  job.set_parameters(50'000'000);
  const trace::Trace trace = job.run(cluster);
  REQUIRE(trace.paths.size() == 1);
  const trace::PathRow& path = trace.paths.front();
  CHECK(path.traffic == TrafficClass::reduce_gradients);
  CHECK(trace.links.at(path.link).link_class == "nic");
  for (const trace::CollectiveRow& row : trace.collectives)
    CHECK(row.end - row.start == Approx(path.alone).epsilon(1e-6));
}

TEST_CASE("links are ordered by use and then by name", "[links]") {
  const auto cluster = tests::make_cluster({.gpus = {2, 2}, .uplink = 10});
  Job job(2, {.tp = 2});
  const trace::Trace trace = job.run(cluster);
  REQUIRE(trace.links.size() == 4);
  CHECK(trace.links[0].name == "uplink-0_UP");
  CHECK(trace.links[3].link_class == "nic");
  CHECK(trace.links[3].alike == 4);
  for (std::uint32_t i = 0; i < trace.links.size(); ++i) CHECK(trace.links[i].link == i);
}

TEST_CASE("links are not recorded for a sink that does not want them", "[links]") {
  const auto cluster = tests::make_cluster({{1, 1}});
  Job job(2, {});
  struct Plain : trace::Sink {
    void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
               const std::vector<trace::StageRow>&) override {}
    void pass(const trace::PassRow&) override { ++passes; }
    void transfer(const trace::TransferRow&) override {}
    void memory(const trace::MemoryRow&) override {}
    void link(const trace::LinkRow&) override { ++links; }
    void path(const trace::PathRow&) override { ++links; }
    void finish() override {}
    int passes = 0;
    int links = 0;
  } sink;
  execution::run(job.job(cluster), execution::EngineKind::simgrid, {}, sink);
  CHECK(sink.passes == 2 * 2 * 4);
  CHECK(sink.links == 0);
}
