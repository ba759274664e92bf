#include "schedules/deadlock.hpp"

#include <stdexcept>

#include <catch2/catch.hpp>

#include "analysis/trace/sink.hpp"
#include "schedules/families/catalog.hpp"
#include "support/runs.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::PassKind;

namespace {

constexpr auto F = PassKind::forward;
constexpr auto B = PassKind::backward;

schedules::Schedule crossed() {
  schedules::Program first;
  first.repeat(1, 0, {{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}});
  schedules::Program second;
  second.repeat(1, 0, {{F, 1, 1}, {B, 1, 1}, {F, 1, 0}, {B, 1, 0}});
  return {.name = "crossed",
          .devices = 2,
          .microbatches = 2,
          .routes = schedules::Routes::looped(2, 1),
          .programs = {first, second}};
}

}  // namespace

TEST_CASE("both engines report a deadlock in the same words", "[deadlock]") {
  const schedules::Schedule schedule = crossed();
  const auto costs = tests::costs_of(schedule, tests::uniform_times(schedule, 1, 1, 1));
  const auto network = tests::ideal_network(0);
  const execution::Job job{
      .schedule = schedule, .costs = costs, .cluster = network, .hosts = network.place({}, 2)};
  for (const auto engine : {execution::EngineKind::simgrid, execution::EngineKind::timing})
    CHECK_THROWS_WITH(
        tests::run(job, engine),
        "crossed: deadlock: 2 of 2 devices wait forever\n"
        "  device 0 at B of microbatch 0 on stage 0 waits for the gradient of microbatch 0 from "
        "stage 1 (device 1)\n"
        "  device 1 at F of microbatch 1 on stage 1 waits for the activations of F of microbatch 1 "
        "on stage 0 (device 0)");
}

TEST_CASE("flows that were posted before a deadlock do not disturb the next run", "[deadlock]") {
  const schedules::Schedule bad = crossed();
  auto costs = tests::costs_of(bad, tests::uniform_times(bad, 1, 1, 1));
  costs.boundary_bytes = 1'000'000'000;
  const auto& cluster = tests::bench_cluster();
  const auto hosts = cluster.place({"star-0", "star-1"}, 2);
  CHECK_THROWS_AS(tests::run({.schedule = bad, .costs = costs, .cluster = cluster, .hosts = hosts},
                             execution::EngineKind::simgrid),
                  schedules::Deadlock);
  const auto good = schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 1});
  const auto result =
      tests::run({.schedule = good, .costs = costs, .cluster = cluster, .hosts = hosts},
                 execution::EngineKind::simgrid);
  // The run takes 1 s for F and 1 s for its transfer, 3 s for F and B on the second device, 1 s for
  // the transfer back, and 2 s for B.
  CHECK(result.passes.back().end == Approx(1 + 1 + 3 + 1 + 2));
}

TEST_CASE("an exception of a sink leaves the run unchanged", "[deadlock]") {
  struct Full final : trace::Sink {
    void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
               const std::vector<trace::StageRow>&) override {}
    void pass(const trace::PassRow&) override { throw std::runtime_error("the disk is full"); }
    void transfer(const trace::TransferRow&) override {}
    void memory(const trace::MemoryRow&) override {}
    void finish() override {}
  };
  const auto schedule = schedules::make_schedule("1f1b", {.devices = 4, .microbatches = 8});
  const auto costs = tests::costs_of(schedule, tests::uniform_times(schedule, 1, 1, 1));
  const auto network = tests::ideal_network(0.5);
  const execution::Job job{
      .schedule = schedule, .costs = costs, .cluster = network, .hosts = network.place({}, 4)};
  Full sink;
  CHECK_THROWS_WITH(execution::run(job, execution::EngineKind::simgrid, {}, sink),
                    "the disk is full");
  CHECK_THROWS_WITH(execution::run(job, execution::EngineKind::timing, {}, sink),
                    "the disk is full");
  // After the exception, another simulation still runs.
  CHECK(tests::run(job, execution::EngineKind::simgrid).passes.size() == 64);
}
