#include <map>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "support/runs.hpp"
#include "support/timed.hpp"

// Tests how much memory of each category a device holds at known times. Passes take one second.

using namespace pipewright;
using schedules::PassKind;
using trace::MemoryCategory;

namespace {

constexpr auto F = PassKind::forward;
constexpr auto I = PassKind::input_grad;
constexpr auto W = PassKind::weight_grad;
constexpr auto B = PassKind::backward;
constexpr auto R = PassKind::recompute;

using Rows = std::vector<std::pair<double, std::uint64_t>>;  // seconds and bytes

schedules::Schedule on_one_device(std::vector<schedules::Pass> passes, bool recomputes = false) {
  schedules::Program program;
  program.repeat(1, 0, passes);
  return {.name = "by hand",
          .devices = 1,
          .microbatches = 1,
          .recomputed = {recomputes},
          .routes = schedules::Routes::looped(1, 1),
          .programs = {program}};
}

// Returns the changes of one memory category in order, and checks that both engines report the
// same.
Rows changes_of(const tests::HybridJob& job, MemoryCategory category) {
  const auto network = tests::ideal_network(0);
  const auto changes_in = [&](execution::EngineKind engine) {
    Rows rows;
    for (const trace::MemoryRow& row : job.run(network, engine).memory)
      if (row.category == category) rows.emplace_back(row.time, row.bytes);
    return rows;
  };
  const Rows rows = changes_in(execution::EngineKind::simgrid);
  CHECK(rows == changes_in(execution::EngineKind::timing));
  return rows;
}

}  // namespace

TEST_CASE("I frees a part and leaves gradients for W, and W frees the rest", "[ledger]") {
  tests::HybridJob job(on_one_device({{F, 0, 0}, {I, 0, 0}, {W, 0, 0}}), {});
  job.costs.activations = {
      {.held = 100, .released_by_input_grad = 60, .made_by_input_grad = 25, .logits = 7}};
  CHECK(changes_of(job, MemoryCategory::activations) == Rows{{0, 100}, {2, 65}, {3, 0}});
  CHECK(changes_of(job, MemoryCategory::logits) == Rows{{0, 7}, {2, 0}});
}

TEST_CASE("a combined backward pass frees everything", "[ledger]") {
  tests::HybridJob job(on_one_device({{F, 0, 0}, {B, 0, 0}}), {});
  job.costs.activations = {{.held = 100,
                            .released_by_input_grad = 60,
                            .made_by_input_grad = 25,
                            .logits = 7,
                            .working = 11}};
  CHECK(changes_of(job, MemoryCategory::activations) == Rows{{0, 100}, {3, 0}});
  CHECK(changes_of(job, MemoryCategory::logits) == Rows{{0, 7}, {3, 0}});
  CHECK(changes_of(job, MemoryCategory::working) == Rows{{1, 11}, {3, 0}});
}

TEST_CASE("a recomputed stage keeps only its input until R", "[ledger]") {
  tests::HybridJob job(on_one_device({{F, 0, 0}, {R, 0, 0}, {I, 0, 0}, {W, 0, 0}}, true), {});
  job.costs.boundary_bytes = 30;
  job.costs.activations = {{.held = 100, .released_by_input_grad = 60}};
  CHECK(changes_of(job, MemoryCategory::activations) == Rows{{0, 30}, {1, 100}, {3, 40}, {4, 0}});
}

TEST_CASE("a recomputed stage keeps its whole input even if only a part of it is sent",
          "[ledger]") {
  tests::HybridJob job(on_one_device({{F, 0, 0}, {R, 0, 0}, {I, 0, 0}, {W, 0, 0}}, true), {});
  job.costs.boundary_bytes = 30 / 2;
  job.costs.input_bytes = {30};
  job.costs.activations = {{.held = 100, .released_by_input_grad = 60}};
  CHECK(changes_of(job, MemoryCategory::activations) == Rows{{0, 30}, {1, 100}, {3, 40}, {4, 0}});
}

TEST_CASE("the static memory of a GPU is reported at the start", "[ledger]") {
  tests::HybridJob job(schedules::make_schedule("1f1b-2bw", {.devices = 2, .microbatches = 4}), {});
  job.costs.state.assign(
      2, {.weights = 10, .gradients = 20, .optimizer = 60, .buffers = 5, .allowance = 3});
  const auto network = tests::ideal_network(0);
  std::map<MemoryCategory, Rows> changes;
  for (const trace::MemoryRow& row : job.run(network).memory)
    if (row.device == 1) changes[row.category].emplace_back(row.time, row.bytes);
  CHECK(changes == std::map<MemoryCategory, Rows>{{MemoryCategory::weights, {{0, 20}}},
                                                  {MemoryCategory::gradients, {{0, 20}}},
                                                  {MemoryCategory::optimizer, {{0, 60}}},
                                                  {MemoryCategory::buffers, {{0, 5}}},
                                                  {MemoryCategory::allowance, {{0, 3}}}});
}

TEST_CASE("passes free all their memory in every schedule", "[ledger]") {
  const auto network = tests::ideal_network(0);
  for (const schedules::Entry& entry : schedules::catalog()) {
    tests::HybridJob job(entry.make({.devices = 4, .microbatches = 8}), {});
    job.costs.boundary_bytes = 9;
    job.costs.activations.assign(job.schedule.stages(), {.held = 100,
                                                         .released_by_input_grad = 60,
                                                         .made_by_input_grad = 25,
                                                         .logits = 7,
                                                         .working = 11});
    std::map<std::pair<std::uint32_t, MemoryCategory>, std::uint64_t> last;
    for (const trace::MemoryRow& row : job.run(network).memory) {
      CHECK(row.bytes < 100'000);  // no underflow
      last[{row.device, row.category}] = row.bytes;
    }
    CAPTURE(entry.name);
    CHECK(last.size() == 12);
    for (const auto& [place, bytes] : last) CHECK(bytes == 0);
  }
}
