#include <map>

#include <catch2/catch.hpp>

#include "support/runs.hpp"
#include "support/timed.hpp"

// Tests contention against values computed by hand. Transfers have 1 GB, links 1 GB/s, and passes
// take no time unless stated.

using namespace pipewright;
using schedules::P2p;
using schedules::PassKind;
using schedules::Program;

namespace {

constexpr auto F = PassKind::forward;

// A transfer of one microbatch's activations between two devices.
struct Flow {
  std::uint32_t from, to;
  double after = 0;  // seconds of the pass that produces the tensor
};

std::map<std::uint32_t, trace::TransferRow> send(const std::vector<std::string>& hosts,
                                                 const std::vector<Flow>& flows,
                                                 P2p mode = P2p::eager) {
  // Each flow becomes a pipeline of two stages with one microbatch, from the flow's source to its
  // destination.
  std::vector<std::vector<std::uint32_t>> routes;
  std::vector<Program> programs(hosts.size());
  std::vector<std::vector<schedules::Pass>> senders(hosts.size());
  std::vector<std::vector<schedules::Pass>> receivers(hosts.size());
  for (std::uint32_t k = 0; k < flows.size(); ++k) {
    routes.push_back({flows[k].from, flows[k].to});
    senders[flows[k].from].push_back({F, 0, k});
    receivers[flows[k].to].push_back({F, 1, k});
  }
  for (std::size_t device = 0; device < hosts.size(); ++device) {
    programs[device].repeat(1, 0, senders[device]);
    programs[device].repeat(1, 0, receivers[device]);
  }
  const schedules::Schedule schedule{.name = "flows",
                                     .devices = static_cast<std::uint32_t>(hosts.size()),
                                     .microbatches = static_cast<std::uint32_t>(flows.size()),
                                     .routes = schedules::Routes(routes),
                                     .programs = programs};
  workload::StageCosts costs = tests::costs_of(schedule, tests::uniform_times(schedule, 0, 0, 0));
  costs.times.of_stage[static_cast<int>(F)] = {flows.front().after, 0};
  costs.boundary_bytes = 1'000'000'000;
  const auto& cluster = tests::bench_cluster();
  const auto result = tests::run({.schedule = schedule,
                                  .costs = costs,
                                  .cluster = cluster,
                                  .hosts = cluster.place(hosts, schedule.devices),
                                  .p2p = mode},
                                 execution::EngineKind::simgrid);
  std::map<std::uint32_t, trace::TransferRow> by_microbatch;
  for (const trace::TransferRow& row : result.transfers) by_microbatch[row.microbatch] = row;
  return by_microbatch;
}

}  // namespace

TEST_CASE("a single flow has the whole link", "[contention]") {
  CHECK(send({"star-0", "star-1"}, {{0, 1}}).at(0).end == Approx(1).epsilon(1e-12));
}

TEST_CASE("two flows on one link take twice as long", "[contention]") {
  const auto rows = send({"star-0", "star-1"}, {{0, 1}, {0, 1}});
  CHECK(rows.at(0).end == Approx(2).epsilon(1e-12));
  CHECK(rows.at(1).end == Approx(2).epsilon(1e-12));
}

TEST_CASE("incast shares the link into the receiver", "[contention]") {
  const auto rows = send({"star-0", "star-1", "star-2", "star-3"}, {{0, 3}, {1, 3}, {2, 3}});
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(rows.at(k).end == Approx(3).epsilon(1e-12));
}

TEST_CASE("the two directions of a link do not contend", "[contention]") {
  const auto rows = send({"star-0", "star-1"}, {{0, 1}, {1, 0}});
  CHECK(rows.at(0).end == Approx(1).epsilon(1e-12));
  CHECK(rows.at(1).end == Approx(1).epsilon(1e-12));
}

TEST_CASE("flows of different latency share fairly", "[contention]") {
  // Both flows move 1 GB at half of the trunk's rate, and each ends after its own latency.
  const auto rows = send({"near", "far", "sink"}, {{0, 2}, {1, 2}});
  CHECK(rows.at(0).end == Approx(2 + 1e-6).epsilon(1e-12));
  CHECK(rows.at(1).end == Approx(2 + 1e-3).epsilon(1e-12));
}

TEST_CASE("a later flow slows the earlier one from then on", "[contention]") {
  // Passes of both senders take 0.5 s, and device 0 sends again right after the first pass. 0.5 GB
  // of the first flow are through when the second flow starts at 1.0; they share the link until
  // 2.0; the rest of the second flow has it alone.
  const auto rows = send({"star-0", "star-1"}, {{0, 1, 0.5}, {0, 1, 0.5}});
  CHECK(rows.at(0).posted == Approx(0.5));
  CHECK(rows.at(1).posted == Approx(1.0));
  CHECK(rows.at(0).end == Approx(2.0).epsilon(1e-12));
  CHECK(rows.at(1).end == Approx(2.5).epsilon(1e-12));
}

TEST_CASE("a blocking sender starts its next pass when its tensor has arrived", "[contention]") {
  const auto rows = send({"star-0", "star-1"}, {{0, 1, 0.5}, {0, 1, 0.5}}, P2p::blocking);
  CHECK(rows.at(0).end == Approx(1.5).epsilon(1e-12));
  CHECK(rows.at(1).posted == Approx(2.0).epsilon(1e-12));
  CHECK(rows.at(1).end == Approx(3.0).epsilon(1e-12));
}

TEST_CASE("a rendezvous moves no byte before the receiver is ready", "[contention]") {
  const auto rows = send({"star-0", "star-1"}, {{0, 1}, {0, 1}}, P2p::rendezvous);
  CHECK(rows.at(0).end == Approx(1).epsilon(1e-12));
  CHECK(rows.at(1).posted == 0);
  CHECK(rows.at(1).start == Approx(1).epsilon(1e-12));  // one after the other
  CHECK(rows.at(1).end == Approx(2).epsilon(1e-12));
}
