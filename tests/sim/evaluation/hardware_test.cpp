#include "sim/evaluation/hardware.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "analysis/report/summary.hpp"
#include "analysis/trace/sink.hpp"
#include "schedules/unshard.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/work_and_memory.hpp"
#include "sim/execution/ledger.hpp"
#include "sim/execution/run.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t gib = 1ULL << 30;

// Returns a platform file of four hosts behind one switch; each host has the given properties.
std::string platform(const std::array<std::string, 4>& properties) {
  std::string zones;
  for (std::size_t host = 0; host < properties.size(); ++host)
    zones += fmt::format(
        "<cluster id='c{0}' prefix='gpu-' radical='{0}-{0}' suffix='' speed='1f' bw='100GBps' "
        "lat='1us' router_id='r{0}'>{1}</cluster>\n",
        host, properties[host]);
  std::string routes;
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = a + 1; b < 4; ++b)
      routes += fmt::format(
          "<zoneRoute src='c{0}' dst='c{1}' gw_src='r{0}' gw_dst='r{1}'><link_ctn id='l'/>"
          "</zoneRoute>\n",
          a, b);
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
         "\"https://simgrid.org/simgrid.dtd\">\n<platform version='4.1'><zone id='all' "
         "routing='Full'>\n" +
         zones + "<link id='l' bandwidth='100GBps' latency='1us'/>\n" + routes +
         "</zone></platform>\n";
}

std::string property(const std::string& name, const std::string& value) {
  return fmt::format("<prop id='{}' value='{}'/>", name, value);
}

struct Opened {
  config::test::Folder folder;
  config::Scenario scenario;
  evaluation::Hardware hardware;

  Opened(const std::string& xml, const std::string& more)
      : scenario(config::read_scenario(config::read_yaml_text(
            fmt::format("{{cluster: {}, {}}}", folder.write("four.xml", xml), more), "t.yaml"))),
        hardware(evaluation::open_hardware(scenario)) {}
};

const std::string model =
    "model: llama-3-8b, schedule: 1f1b, microbatches: 4, training: "
    "{sequence: 512}";
const std::string two_by_two = model + ", parallel: {pp: 2, dp: 2}";

}  // namespace

TEST_CASE("the capacity of a device is that of its smallest GPU in any replica", "[hardware]") {
  const std::string big = property("gpu", "h100-sxm") + property("memory", "60GiB");
  const std::string small = property("gpu", "h100-sxm") + property("memory", "20GiB");
  // Device 0 consists of ranks 0 and 1, one per replica, and device 1 of ranks 2 and 3.
  const Opened opened(platform({big, big, big, small}), two_by_two);
  const auto& capacity = opened.hardware.capacity;
  REQUIRE(capacity.size() == 2);
  CHECK(capacity[0].bytes == 60 * gib);
  CHECK(capacity[0].host == opened.hardware.hosts[0]);
  CHECK(capacity[1].bytes == 20 * gib);
  CHECK(capacity[1].host == opened.hardware.hosts[3]);
}

TEST_CASE("the capacity of a device is that of its smallest GPU on any lane", "[hardware]") {
  const std::string big = property("gpu", "h100-sxm") + property("memory", "60GiB");
  const std::string small = property("gpu", "h100-sxm") + property("memory", "20GiB");
  const Opened opened(platform({big, small, big, big}), model + ", parallel: {pp: 2, tp: 2}");
  CHECK(evaluation::memory_of(opened.hardware) == std::vector<std::uint64_t>{20 * gib, 60 * gib});
}

TEST_CASE("a host without a memory size has the memory of its GPU type", "[hardware]") {
  const std::string type = property("gpu", "v100-32gb");
  const std::string sized = property("gpu", "v100-32gb") + property("memory", "16GiB");
  const Opened opened(platform({type, sized, type, type}), two_by_two);
  const std::uint64_t type_capacity = config::find_gpu("v100-32gb").capacity();
  CHECK(type_capacity > 16 * gib);
  CHECK(evaluation::memory_of(opened.hardware) ==
        std::vector<std::uint64_t>{16 * gib, type_capacity});
}

TEST_CASE("the scenario's GPU replaces those of the cluster, including their memory",
          "[hardware]") {
  const std::string big = property("gpu", "h100-sxm") + property("memory", "80GiB");
  const Opened opened(platform({big, big, big, big}), two_by_two + ", gpu: a100-40gb");
  const std::uint64_t type_capacity = config::find_gpu("a100-40gb").capacity();
  CHECK(type_capacity < 80 * gib);
  CHECK(evaluation::memory_of(opened.hardware) == std::vector<std::uint64_t>(2, type_capacity));
}

TEST_CASE("a GPU has the launch factor of its host, whatever names the GPU", "[hardware]") {
  const std::string usual = property("gpu", "h100-sxm");
  const std::string slow = usual + property("launch_factor", "1.3");
  for (const std::string more : {"", ", gpu: a100-40gb"}) {
    CAPTURE(more);
    const Opened opened(platform({usual, usual, slow, slow}), two_by_two + more);
    REQUIRE(opened.hardware.gpus.size() == 2);
    CHECK(opened.hardware.gpus[0].launch_factor == 1);
    CHECK(opened.hardware.gpus[1].launch_factor == 1.3);
  }
}

TEST_CASE("a GPU knows the number of GPUs of its host", "[hardware]") {
  const std::string usual = property("gpu", "h100-sxm");
  const std::string tray = usual + property("host_gpus", "2");
  const Opened opened(platform({usual, usual, tray, tray}), two_by_two);
  CHECK(opened.hardware.hosts[0]->host_gpus == 0);
  CHECK(opened.hardware.hosts[2]->host_gpus == 2);
  for (const std::string wrong : {"0", "-1", "two", "1.5"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(
        Opened(platform({usual, usual, usual, usual + property("host_gpus", wrong)}), two_by_two),
        Catch::Contains("property host_gpus: '" + wrong + "' is no number of GPUs"));
  }
}

TEST_CASE("a replica on slower hosts takes longer", "[hardware]") {
  const std::string usual = property("gpu", "h100-sxm");
  const auto seconds = [&](const std::string& second_replica, const std::string& more) {
    Opened opened(
        platform({usual, second_replica, usual, second_replica}),
        "model: llama-3-8b, microbatches: 8, training: {sequence: 512}, parallel: {pp: 2, dp: 2}" +
            more);
    CHECK(opened.hardware.gpus[0].launch_factor == 1);
    workload::Plan plan =
        evaluation::plan_on(opened.scenario, opened.scenario.schedules.front(), opened.hardware);
    const execution::Job job = evaluation::make_job(opened.scenario, opened.hardware, plan);
    analysis::SummarySink sink;
    execution::run(job, execution::EngineKind::timing, {}, sink);
    return sink.summary().makespan_s;
  };
  for (const std::string more : {"", ", gpu: h100-sxm"}) {
    CAPTURE(more);
    CHECK(seconds(usual + property("launch_factor", "6"), more) > 2 * seconds(usual, more));
  }
}

TEST_CASE("torchtitan gathers three of a device's stages at a time", "[hardware]") {
  constexpr std::uint32_t stages = 8;
  constexpr std::uint32_t last = stages - 1;
  const std::string host = property("gpu", "h100-sxm");
  struct Run {
    Run(const std::string& xml, const std::string& more)
        : opened(xml,
                 "model: llama-3-8b, schedule: {name: interleaved-1f1b, chunks: 4}, microbatches: "
                 "8, training: {sequence: 512}, stack: torchtitan, parallel: {pp: 2, shard: 2" +
                     more + "}"),
          plan(evaluation::plan_on(opened.scenario, opened.scenario.schedules.front(),
                                   opened.hardware)) {
      const execution::Job job = evaluation::make_job(opened.scenario, opened.hardware, plan);
      peak = execution::peak_memory(job, 1);
      execution::run(job, execution::EngineKind::timing, {}, collector);
    }
    // Number of collectives that gather the last stage.
    std::ptrdiff_t gathers() const {
      return std::ranges::count_if(collector.trace.collectives, [](const auto& row) {
        return row.kind == trace::CollectiveKind::gather_weights && row.stage == last;
      });
    }

    Opened opened;
    workload::Plan plan;
    execution::PeakMemory peak;
    trace::TraceCollector collector;
  };
  const std::string xml = platform({host, host, host, host});
  const Run three(xml, "");
  const Run all(xml, ", max_unsharded_stages: 4");

  std::ptrdiff_t planned = 0;
  for (const auto& step : schedules::plan_unshards(three.plan.schedule.programs[1], 3))
    planned += std::ranges::count(step.unshard, last);
  CHECK(planned > 1);
  REQUIRE(all.gathers() > 0);
  CHECK(three.gathers() == planned * all.gathers());

  double whole = 0;
  double largest = 0;
  for (std::uint32_t stage = 1; stage < stages; stage += 2) {
    const auto bytes = static_cast<double>(three.plan.costs.gathered_whole(stage));
    whole += bytes;
    largest = std::max(largest, bytes);
  }
  const auto weights = [](const Run& run) {
    return static_cast<double>(run.plan.costs.state[1].weights);
  };
  CHECK(weights(all) - weights(three) == Approx(whole));
  const auto category = static_cast<std::size_t>(trace::MemoryCategory::gathered);
  CHECK(all.peak.at_peak[category] == 0);
  CHECK(three.peak.at_peak[category] > 0);
  CHECK(static_cast<double>(three.peak.at_peak[category]) <= 3 * largest);
  CHECK(three.peak.bytes < all.peak.bytes);
}

TEST_CASE("a GPU without the attention kernels of the stack is refused", "[hardware]") {
  const std::string type = property("gpu", "a100-80gb");
  CHECK_THAT(config::test::error_of([&] {
               Opened(platform({type, type, type, type}), two_by_two + ", stack: primus");
             }),
             Contains("the GPU 'a100-80gb' has no attention kernel aiter or ck"));
}

TEST_CASE("without a model hosts of any type have the memory that they state", "[hardware]") {
  const std::string plain =
      "schedule: 1f1b, microbatches: 4, parallel: {pp: 2, dp: 2}, forward_times: 1, "
      "backward_times: 2";
  const std::string type = property("gpu", "toaster");
  const Opened opened(platform({type, type + property("memory", "2GiB"), type, type}), plain);
  CHECK(evaluation::memory_of(opened.hardware) == std::vector<std::uint64_t>{2 * gib, 0});
}

TEST_CASE("run and search use the same memory and name the GPU that is too small", "[hardware]") {
  const std::string big = property("gpu", "h100-sxm") + property("memory", "800GiB");
  const std::string small = property("gpu", "h100-sxm") + property("memory", "2GiB");
  Opened opened(platform({big, big, big, small}), two_by_two);
  workload::Plan plan =
      workload::make_plan(opened.scenario, opened.scenario.schedules.front(), opened.hardware.gpus);
  const execution::Job job = evaluation::make_job(opened.scenario, opened.hardware, plan);
  analysis::SummarySink sink;
  execution::run(job, execution::EngineKind::timing, {}, sink);
  CHECK_FALSE(analysis::fits(sink.summary()));
  // The capacity is the free memory that CUDA reports on an H100 of 80 GB, even if the platform
  // file states more.
  CHECK(sink.summary().devices[0].memory_capacity_bytes == config::find_gpu("h100-sxm").capacity());
  CHECK(sink.summary().devices[1].memory_capacity_bytes == 2 * gib);
  CHECK(evaluation::smallest_host(job, 0).empty());
  CHECK(evaluation::smallest_host(job, 1) == "gpu-3");

  const evaluation::Fullest fullest =
      evaluation::fullest(job, evaluation::memory_of(opened.hardware));
  CHECK(fullest.device == 1);
  CHECK_FALSE(fullest.fits());
  CHECK(fullest.peak.bytes == sink.summary().devices[1].peak_memory_bytes);
  CHECK_THAT(evaluation::describe(fullest), Contains("of 2.0 GiB of gpu-3:"));
  // A memory limit that a search sets instead of the GPUs' capacity is described without a host
  // name.
  CHECK_THAT(evaluation::describe(evaluation::fullest(job, {gib, gib})), !Contains("gpu-3"));
}
