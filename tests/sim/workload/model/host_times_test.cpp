#include <catch2/catch.hpp>

#include "sim/config/text/units.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/workload/plan/planner.hpp"

// Tests the time that the host's kernel launches add to the passes of a model.

using namespace pipewright;
using schedules::PassKind;

namespace {

workload::StageCosts costs(const std::string& launch, const std::string& training,
                           const std::string& schedule = "1f1b") {
  const config::Value tree = config::read_yaml_text(
      "{gpu: h100-sxm, model: llama-3-8b, devices: 2, microbatches: 4, schedule: " + schedule +
          ", training: " + training + "}",
      "s.yaml");
  config::Scenario scenario = config::read_scenario(tree);
  // Launch times of 1 s are more than a stack may have. All other times are then negligible.
  config::HostTimes& host = scenario.training.stack.host;
  host.kernel = host.collective = config::parse_time(launch, "launch", "a time");
  const workload::Gpus gpus(2, *scenario.gpu);
  return workload::make_plan(scenario, scenario.schedules.front(), gpus).costs;
}

double seconds(const workload::StageCosts& costs, PassKind kind, std::uint32_t stage = 0) {
  return costs.times[kind].at(stage);
}

double waits(const workload::StageCosts& costs, PassKind kind, std::uint32_t stage = 0) {
  return costs.of(costs.host_waits, {kind, static_cast<std::uint16_t>(stage)});
}

}  // namespace

TEST_CASE("a pass takes the longer of its launches and its kernels", "[host]") {
  const double overhead = 0.5e-3;
  // The first stage also looks tokens up, one kernel. A layer has two norms, four matrices,
  // rotation, attention, two residuals and the activation function: 11 kernels. W has four matrices
  // per layer and the embedding table.
  const auto slow = costs("1 s", "{}");
  CHECK(seconds(slow, PassKind::forward) == Approx(overhead + 16 * 11 + 1));
  CHECK(waits(slow, PassKind::forward) ==
        Approx(16 * 11 + 1 + overhead - seconds(costs("0 s", "{}"), PassKind::forward)));
  CHECK(seconds(costs("1 s", "{cuda_graphs: layer}"), PassKind::forward) ==
        Approx(overhead + 16 + 1));
  CHECK(seconds(costs("1 s", "{cuda_graphs: iteration}"), PassKind::forward) ==
        seconds(costs("0 s", "{}"), PassKind::forward));
  CHECK(seconds(costs("1 s", "{}", "zb-h1"), PassKind::weight_grad) ==
        Approx(overhead + 16 * 4 + 1));
}

TEST_CASE("a host that is ahead of the GPU adds no time", "[host]") {
  const auto none = costs("0 s", "{}");
  const auto ahead = costs("10 us", "{}");
  CHECK(none.times.of_stage == ahead.times.of_stage);
  CHECK(ahead.host_waits[0].empty());
}

TEST_CASE("a recomputed kernel costs its launch only if the host limits the pass", "[host]") {
  const std::string attention = "{recompute: {modules: [core_attn]}}";
  const auto added_seconds = [&](const std::string& launch) {
    return seconds(costs(launch, attention), PassKind::backward) -
           seconds(costs(launch, "{}"), PassKind::backward);
  };
  CHECK(added_seconds("0 s") > 0);
  CHECK(added_seconds("140 us") == Approx(added_seconds("0 s")));
  // In each of 16 recomputed layers, the host launches one more kernel and handles random number
  // states four times: 5 s.
  CHECK(added_seconds("1 s") == Approx(16 * 5));
}

TEST_CASE("each slice of a microbatch is launched separately", "[host]") {
  const auto forward = [](const std::string& schedule) {
    return seconds(costs("1 s", "{}", schedule), PassKind::forward);
  };
  CHECK(forward("{name: seq1f1b, slices: 2}") == Approx(forward("1f1b")));
}
