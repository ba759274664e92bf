#include "schedules/unshard.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/execution/ledger.hpp"
#include "support/jobs.hpp"

// Tests FSDP pipelines that gather only some stages of a device at a time, as PyTorch's do.

using namespace pipewright;
using execution::EngineKind;
using trace::CollectiveKind;

namespace {

constexpr std::uint64_t parameters = 840 * 840;  // of a stage
constexpr std::uint64_t gathered = 2 * parameters;

struct Job : tests::HybridJob {
  explicit Job(const schedules::UnshardWindow& window,
               const schedules::Parameters& sizes = {.devices = 4, .microbatches = 16, .chunks = 4})
      : HybridJob(schedules::make_schedule("interleaved-1f1b", sizes), {.dp = 2}) {
    set_parameters(parameters);
    limit_unsharded_stages(window);
  }
};

// Stages of the device in the order in which they are gathered.
std::vector<std::uint32_t> gathers(const trace::Trace& trace, std::uint32_t device) {
  std::vector<std::uint32_t> stages;
  for (const auto& row : tests::collectives(trace, device, CollectiveKind::gather_weights))
    stages.push_back(row.stage);
  return stages;
}

std::vector<std::uint32_t> planned(const Job& job, std::uint32_t device,
                                   const schedules::UnshardWindow& window) {
  std::vector<std::uint32_t> stages;
  for (const auto& step : schedules::plan_unshards(job.schedule.programs[device], window))
    stages.insert(stages.end(), step.unshard.begin(), step.unshard.end());
  return stages;
}

// Bytes of gathered weights of a device after each change.
std::vector<std::uint64_t> memory(const trace::Trace& trace, std::uint32_t device) {
  std::vector<std::uint64_t> bytes;
  for (const trace::MemoryRow& row : trace.memory)
    if (row.device == device && row.category == trace::MemoryCategory::gathered)
      bytes.push_back(row.bytes);
  return bytes;
}

}  // namespace

TEST_CASE("a stage of a looped schedule is gathered as often as PyTorch does", "[unshard]") {
  const auto cluster = tests::mesh_cluster(8);
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    for (const std::uint32_t max_stages : {2U, 3U}) {
      const Job job(max_stages);
      const trace::Trace trace = job.run(cluster, engine);
      for (std::uint32_t device = 0; device < 4; ++device)
        CHECK(gathers(trace, device) == planned(job, device, max_stages));
    }
    // Interleaved 1F1B on 4 ranks with 4 stages each and 16 microbatches: _add_unshard_reshard
    // gathers the last stage 4 times, or once with max_active_stages=4.
    CHECK(std::ranges::count(gathers(Job(3).run(cluster, engine), 3), 15U) == 4);
    CHECK(std::ranges::count(gathers(Job(4).run(cluster, engine), 3), 15U) == 1);
  }
}

TEST_CASE("a device holds no more gathered stages than allowed, and none at the end", "[unshard]") {
  const auto cluster = tests::mesh_cluster(8);
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing})
    for (const std::uint32_t max_stages : {1U, 2U, 3U}) {
      const Job job(max_stages);
      const trace::Trace trace = job.run(cluster, engine);
      for (std::uint32_t device = 0; device < 4; ++device) {
        const std::vector<std::uint64_t> bytes = memory(trace, device);
        REQUIRE(!bytes.empty());
        CHECK(std::ranges::max(bytes) == max_stages * gathered);
        CHECK(bytes.back() == 0);
      }
      CHECK(execution::peak_memory(job.job(cluster), 0).bytes >= max_stages * gathered);
    }
  // Where all stages of a device stay gathered, they belong to its static memory.
  CHECK(memory(Job(4).run(cluster), 0).empty());
}

TEST_CASE("a stage is requested when the pass before the change has ended", "[unshard]") {
  const auto cluster = tests::mesh_cluster(8);
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    const trace::Trace trace = Job(3).run(cluster, engine);
    const auto rows = tests::collectives(trace, 3, CollectiveKind::gather_weights);
    std::vector<trace::PassRow> passes;
    for (const trace::PassRow& row : trace.passes)
      if (row.device == 3) passes.push_back(row);
    std::ranges::sort(passes, {}, &trace::PassRow::start);
    // Stages 3, 7 and 11 are gathered at the start, and stage 15 in place of stage 3 after the four
    // forward passes on stage 3.
    REQUIRE(rows.size() > 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(rows[i].posted == 0);
    CHECK(rows[3].stage == 15);
    CHECK(rows[3].posted == Approx(passes[3].released).epsilon(1e-9));
  }
}

TEST_CASE("a pass waits for a stage that is gathered just before it", "[unshard]") {
  // With one stage at a time, every change of the stage exposes its gathering.
  const auto cluster = tests::mesh_cluster(2);
  const auto end = [&](std::uint32_t max_stages, EngineKind engine) {
    Job job(max_stages, {.devices = 1, .microbatches = 2, .chunks = 2});
    return tests::last_end(job.run(cluster, engine));
  };
  const double gather =
      tests::mesh_latency + parameters / tests::mesh_rate;  // half of 2 bytes each
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    const Job job(1, {.devices = 1, .microbatches = 2, .chunks = 2});
    const auto times = static_cast<double>(planned(job, 0, 1).size());
    CHECK(times > 2);
    CHECK(end(1, engine) - end(2, engine) == Approx((times - 1) * gather).epsilon(1e-5));
  }
}

TEST_CASE("each iteration gathers stages by the same plan, after the optimizer's step",
          "[unshard]") {
  const auto cluster = tests::mesh_cluster(8);
  const Job job(3, {.devices = 4, .microbatches = 8, .iterations = 2, .chunks = 4});
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    const trace::Trace trace = job.run(cluster, engine);
    for (std::uint32_t device = 0; device < 4; ++device) {
      const std::vector<std::uint32_t> once = planned(job, device, 3);
      std::vector<std::uint32_t> twice = once;
      twice.insert(twice.end(), once.begin(), once.end());
      CHECK(gathers(trace, device) == twice);
      for (const auto& row : tests::collectives(trace, device, CollectiveKind::gather_weights))
        if (row.iteration == 1)
          CHECK(row.posted >= tests::step_of(trace, device, 0).updated * (1 - 1e-12));
    }
  }
}

TEST_CASE("a lookahead of one stage exposes the gathers that a wider one hides", "[unshard]") {
  // One device runs both stages in turn, each in half a second. A lookahead of one starts to gather
  // the second stage only after the first pass of the first one.
  const auto cluster = tests::mesh_cluster(2);
  const schedules::Parameters sizes{.devices = 1, .microbatches = 2, .chunks = 2};
  const double gather = tests::mesh_latency + parameters / tests::mesh_rate;
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    const Job narrow({2, 1}, sizes);
    const trace::Trace trace = narrow.run(cluster, engine);
    CHECK(gathers(trace, 0) == std::vector<std::uint32_t>{0, 1});
    CHECK(std::ranges::max(memory(trace, 0)) == 2 * gathered);
    const auto rows = tests::collectives(trace, 0, CollectiveKind::gather_weights);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].posted == 0);
    CHECK(rows[1].posted == Approx(gather + 0.5).epsilon(1e-9));
    CHECK(tests::last_end(trace) - tests::last_end(Job(2, sizes).run(cluster, engine)) ==
          Approx(gather).epsilon(1e-6));
  }
}

TEST_CASE("a lookahead by rank gathers what a full one does, later", "[unshard]") {
  const auto cluster = tests::mesh_cluster(8);
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    Job job(4);
    for (std::uint32_t device = 0; device < 4; ++device)
      job.conditions.unshard_windows.emplace_back(4, schedules::automatic_lookahead(device, 4));
    job.conditions.zero = 1;
    const trace::Trace trace = job.run(cluster, engine);
    const trace::Trace full = Job(4).run(cluster, engine);
    for (std::uint32_t device = 0; device < 4; ++device) {
      CHECK(gathers(trace, device) == gathers(full, device));
      CHECK(std::ranges::max(memory(trace, device)) == 4 * gathered);
      const auto rows = tests::collectives(trace, device, CollectiveKind::gather_weights);
      const auto at_start = std::ranges::count(rows, 0, &trace::CollectiveRow::posted);
      CHECK(at_start == std::min(device + 2, 4U));
    }
    CHECK(tests::last_end(trace) >= tests::last_end(full) * (1 - 1e-12));
  }
}

TEST_CASE("jobs that cannot gather stages in turn are refused", "[unshard]") {
  const auto cluster = tests::mesh_cluster(8);
  tests::HybridJob both_ways(
      schedules::make_schedule("dualpipe", {.devices = 2, .microbatches = 4}), {.dp = 2});
  both_ways.set_parameters(parameters);
  both_ways.limit_unsharded_stages(1);
  CHECK_THROWS_WITH(both_ways.run(cluster),
                    Catch::Contains("dualpipe keeps stage 0 on devices 0 and 1, which gather their "
                                    "stages in different orders; allowed: leave out "
                                    "parallel.max_unsharded_stages"));
  Job random(3);
  random.conditions.variation.jitter = 0.1;
  CHECK_NOTHROW(random.run(cluster));
  CHECK_THROWS_WITH(random.run(cluster, EngineKind::timing),
                    Catch::Contains("the timing engine does not support jitter, stragglers or "
                                    "lengths with FSDP that gathers stages again"));
}
