#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/random.hpp"
#include "support/runs.hpp"

// Tests that the SimGrid engine and the timing engine, which share only the schedule, compute the
// same times of every pass.

using namespace pipewright;
using schedules::P2p;

namespace {

schedules::PassTimes random_times(tests::Random& random, const schedules::Schedule& schedule,
                                  double low, double high) {
  schedules::PassTimes times;
  for (auto& times_by_stage : times.of_stage)
    times_by_stage = random.reals(schedule.stages(), low, high);
  return times;
}

std::vector<trace::PassRow> sorted(std::vector<trace::PassRow> passes) {
  std::sort(passes.begin(), passes.end(), [](const auto& a, const auto& b) {
    return std::tie(a.device, a.start, a.end, a.stage, a.microbatch) <
           std::tie(b.device, b.start, b.end, b.stage, b.microbatch);
  });
  return passes;
}

void check_same(const trace::Trace& simulated, const trace::Trace& timed) {
  const auto a = sorted(simulated.passes);
  const auto b = sorted(timed.passes);
  REQUIRE(a.size() == b.size());
  double worst = 0;
  bool same_order = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    same_order = same_order && a[i].stage == b[i].stage && a[i].microbatch == b[i].microbatch &&
                 a[i].kind == b[i].kind;
    for (const auto time : {&trace::PassRow::sent, &trace::PassRow::ready, &trace::PassRow::start,
                            &trace::PassRow::end, &trace::PassRow::released})
      worst = std::max(worst, std::abs(a[i].*time - b[i].*time) / std::max(b[i].end, 1e-12));
  }
  CHECK(same_order);
  CHECK(worst < 1e-9);
  CHECK(simulated.transfers.size() == timed.transfers.size());
  CHECK(simulated.memory.size() == timed.memory.size());
}

std::optional<schedules::Schedule> random_schedule(const schedules::Entry& entry,
                                                   tests::Random& random,
                                                   std::uint32_t max_devices) {
  schedules::Parameters parameters{.devices = random.whole(1, max_devices),
                                   .microbatches = random.whole(1, 24),
                                   .iterations = random.whole(1, 3)};
  if (entry.takes(&schedules::Parameters::chunks)) parameters.chunks = random.whole(1, 4);
  if (entry.takes(&schedules::Parameters::barriers)) parameters.barriers = random.whole(0, 2);
  if (entry.takes(&schedules::Parameters::fold)) parameters.fold = random.whole(1, 2);
  try {
    return entry.make(parameters);
  } catch (const schedules::Error&) {
    return std::nullopt;  // sizes that the family refuses
  }
}

// Adds collectives between S, T and B of a split vocabulary, which take up to `longest` seconds.
void add_exchanges(const schedules::Schedule& schedule, double longest, tests::Random& random,
                   workload::StageCosts& costs) {
  if (schedule.barriers == 0) return;
  for (const auto kind : {schedules::PassKind::output, schedules::PassKind::output_grad}) {
    auto& calls_by_stage = costs.timed_calls[static_cast<std::size_t>(kind)];
    calls_by_stage.resize(schedule.stages());
    for (const auto collective :
         {workload::Collective::broadcast, workload::Collective::all_reduce})
      calls_by_stage.front().push_back({.group = workload::Group::pp,
                                        .name = workload::name_of(collective),
                                        .half = {},
                                        .seconds = random.real(0, longest)});
  }
}

}  // namespace

TEST_CASE("the engines agree on an ideal network", "[engines]") {
  tests::Random random(20240229);
  int compared = 0;
  for (int round = 0; round < 12; ++round) {
    for (const schedules::Entry& entry : schedules::catalog()) {
      for (const P2p mode : {P2p::eager, P2p::rendezvous, P2p::blocking, P2p::steady}) {
        const auto schedule = random_schedule(entry, random, 12);
        if (!schedule) continue;
        const double latency = random.whole(0, 3) == 0 ? 0 : random.real(1e-6, 0.2);
        auto costs = tests::costs_of(*schedule, random_times(random, *schedule, 1e-3, 0.1));
        add_exchanges(*schedule, 0.1, random, costs);
        const auto network = tests::ideal_network(latency);
        const execution::Job job{.schedule = *schedule,
                                 .costs = costs,
                                 .cluster = network,
                                 .hosts = network.place({}, schedule->devices),
                                 .p2p = mode};
        CAPTURE(entry.name, schedule->devices, schedule->microbatches, schedule->chunks, latency,
                static_cast<int>(mode));
        check_same(tests::run(job, execution::EngineKind::simgrid),
                   tests::run(job, execution::EngineKind::timing));
        ++compared;
      }
    }
  }
  CHECK(compared > 150);
}

TEST_CASE("the engines agree on links that are not shared", "[engines]") {
  tests::Random random(20240229);
  const auto& cluster = tests::bench_cluster();
  int compared = 0;
  for (int round = 0; round < 8; ++round) {
    for (const schedules::Entry& entry : schedules::catalog()) {
      for (const P2p mode : {P2p::eager, P2p::rendezvous, P2p::blocking, P2p::steady}) {
        const auto schedule = random_schedule(entry, random, 8);
        // A tensor of 1 MB takes 1 ms, less than any pass, so transfers on a link never overlap.
        // The exception are fused pairs, which send two tensors to the same neighbour.
        if (!schedule || schedules::has_fused_pairs(*schedule)) continue;
        auto costs = tests::costs_of(*schedule, random_times(random, *schedule, 2e-3, 0.01));
        costs.boundary_bytes = 1'000'000;
        add_exchanges(*schedule, 0.01, random, costs);
        std::vector<std::string> names;
        for (std::uint32_t device = 0; device < schedule->devices; ++device)
          names.push_back("own-" + std::to_string(device));
        const execution::Job job{.schedule = *schedule,
                                 .costs = costs,
                                 .cluster = cluster,
                                 .hosts = cluster.place(names, schedule->devices),
                                 .p2p = mode};
        CAPTURE(entry.name, schedule->devices, schedule->microbatches, schedule->chunks,
                static_cast<int>(mode));
        check_same(tests::run(job, execution::EngineKind::simgrid),
                   tests::run(job, execution::EngineKind::timing));
        ++compared;
      }
    }
  }
  CHECK(compared > 80);
}

TEST_CASE("the engines agree on split backwards and on a stage of two devices", "[engines]") {
  using schedules::PassKind;
  constexpr auto F = PassKind::forward;
  constexpr auto I = PassKind::input_grad;
  constexpr auto W = PassKind::weight_grad;
  schedules::Program first;
  first.repeat(1, 0, {{F, 0, 0}, {F, 1, 1}, {I, 1, 1}, {I, 0, 0}, {W, 1, 1}, {W, 0, 0}});
  schedules::Program second;
  second.repeat(1, 0, {{F, 0, 1}, {F, 1, 0}, {I, 1, 0}, {W, 1, 0}, {I, 0, 1}, {W, 0, 1}});
  const schedules::Schedule schedule{.name = "both ways",
                                     .devices = 2,
                                     .chunks = 2,
                                     .microbatches = 2,
                                     .routes = schedules::Routes({{0, 1}, {1, 0}}),
                                     .programs = {first, second}};
  tests::Random random(20240229);
  const auto costs = tests::costs_of(schedule, random_times(random, schedule, 0.1, 1));
  const auto network = tests::ideal_network(0.05);
  const execution::Job job{
      .schedule = schedule, .costs = costs, .cluster = network, .hosts = network.place({}, 2)};
  check_same(tests::run(job, execution::EngineKind::simgrid),
             tests::run(job, execution::EngineKind::timing));
}

TEST_CASE("two runs in one process differ only by the rounding of the clock", "[engines]") {
  const auto schedule = schedules::make_schedule("1f1b", {.devices = 4, .microbatches = 16});
  tests::Random random(20240229);
  auto costs = tests::costs_of(schedule, random_times(random, schedule, 2e-3, 0.01));
  costs.boundary_bytes = 1'000'000;
  const auto& cluster = tests::bench_cluster();
  const execution::Job job{.schedule = schedule,
                           .costs = costs,
                           .cluster = cluster,
                           .hosts = cluster.place({"star-0", "star-1", "star-2", "star-3"}, 4)};
  const auto first_run = tests::run(job, execution::EngineKind::simgrid);
  check_same(tests::run(job, execution::EngineKind::simgrid), first_run);
}

TEST_CASE("a device is busy for exactly the duration of its passes", "[engines]") {
  tests::Random random(20240229);
  const auto schedule =
      schedules::make_schedule("interleaved-1f1b", {.devices = 4, .microbatches = 8, .chunks = 2});
  auto costs = tests::costs_of(schedule, random_times(random, schedule, 2e-3, 0.01));
  costs.boundary_bytes = 5'000'000;
  const auto& cluster = tests::bench_cluster();
  const auto result =
      tests::run({.schedule = schedule,
                  .costs = costs,
                  .cluster = cluster,
                  .hosts = cluster.place({"star-0", "star-1", "star-2", "star-3"}, 4)},
                 execution::EngineKind::simgrid);
  std::vector<double> busy(4);
  std::vector<double> expected(4);
  for (const trace::PassRow& row : result.passes) busy[row.device] += row.end - row.start;
  for (std::uint32_t stage = 0; stage < 8; ++stage)
    expected[stage % 4] +=
        8 * (costs.times({schedules::PassKind::forward, static_cast<std::uint16_t>(stage), 0}) +
             costs.times({schedules::PassKind::backward, static_cast<std::uint16_t>(stage), 0}));
  for (std::size_t device = 0; device < 4; ++device)
    CHECK(busy[device] == Approx(expected[device]));
}
