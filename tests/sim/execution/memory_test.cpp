#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/runs.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using trace::MemoryCategory;

namespace {

struct Setup {
  schedules::Schedule schedule;
  workload::StageCosts costs;
  cluster::Cluster network = tests::ideal_network(0);

  explicit Setup(schedules::Schedule setup_schedule)
      : schedule(std::move(setup_schedule)),
        costs(tests::costs_of(schedule, tests::uniform_times(schedule, 1, 1, 1))) {}

  std::vector<trace::MemoryRow> rows(execution::EngineKind engine) {
    return tests::run({.schedule = schedule,
                       .costs = costs,
                       .cluster = network,
                       .hosts = network.place({}, schedule.devices)},
                      engine)
        .memory;
  }
};

}  // namespace

TEST_CASE("a device holds the activations of its in-flight microbatches and frees them all",
          "[memory]") {
  for (const schedules::Entry& entry : schedules::catalog()) {
    Setup setup(entry.make({.devices = 4, .microbatches = 8, .iterations = 2}));
    setup.costs.activations.assign(setup.schedule.stages(), {.held = 100});
    const auto in_flight = schedules::peak_in_flight(setup.schedule);
    for (const auto engine : {execution::EngineKind::simgrid, execution::EngineKind::timing}) {
      std::map<std::uint32_t, std::uint64_t> peak;
      std::map<std::uint32_t, std::uint64_t> last;
      for (const trace::MemoryRow& row : setup.rows(engine)) {
        CHECK(row.category == MemoryCategory::activations);
        peak[row.device] = std::max(peak[row.device], row.bytes);
        last[row.device] = row.bytes;
      }
      CAPTURE(entry.name);
      for (std::uint32_t device = 0; device < 4; ++device) {
        CHECK(static_cast<double>(peak[device]) ==
              Approx(in_flight[device] * 100 / setup.schedule.share()).epsilon(1e-12));
        CHECK(last[device] == 0);
      }
    }
  }
}

TEST_CASE("I and W each free their part", "[memory]") {
  using schedules::PassKind;
  schedules::Program program;
  program.repeat(
      1, 0,
      {{PassKind::forward, 0, 0}, {PassKind::input_grad, 0, 0}, {PassKind::weight_grad, 0, 0}});
  Setup setup({.name = "split",
               .devices = 1,
               .microbatches = 1,
               .routes = schedules::Routes::looped(1, 1),
               .programs = {program}});
  setup.costs.activations = {{.held = 100, .released_by_input_grad = 60}};
  const auto rows = setup.rows(execution::EngineKind::simgrid);
  REQUIRE(rows.size() == 3);
  CHECK((rows[0].time == 0 && rows[0].bytes == 100));
  CHECK((rows[1].time == 2 && rows[1].bytes == 40));
  CHECK((rows[2].time == 3 && rows[2].bytes == 0));
}

TEST_CASE("weights are held throughout, twice in schedules without a flush", "[memory]") {
  for (const auto& [name, versions] : {std::pair{"1f1b", 1U}, std::pair{"1f1b-2bw", 2U}}) {
    Setup setup(schedules::make_schedule(name, {.devices = 2, .microbatches = 4}));
    setup.costs.state.assign(2, {.weights = 10, .gradients = 20, .optimizer = 60});
    std::map<MemoryCategory, std::uint64_t> bytes_by_category;
    for (const trace::MemoryRow& row : setup.rows(execution::EngineKind::simgrid)) {
      CHECK(row.time == 0);
      if (row.device == 1) bytes_by_category[row.category] = row.bytes;
    }
    CHECK(bytes_by_category ==
          std::map<MemoryCategory, std::uint64_t>{{MemoryCategory::weights, 10 * versions},
                                                  {MemoryCategory::gradients, 20},
                                                  {MemoryCategory::optimizer, 60}});
  }
}
