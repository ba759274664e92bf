#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "support/random.hpp"
#include "tests/sim/config/support.hpp"

// Tests the time in which the host launches kernels: a slower host never makes a run faster, and
// CUDA graphs, which save launches, never make it slower.

using namespace pipewright;

namespace {

// Returns a random scenario on 16 GPUs in two nodes.
std::string random_scenario(const std::string& cluster, tests::Random& random) {
  const std::uint32_t tp = 1U << random.whole(0, 3);
  const std::uint32_t cp = tp > 4 || random.flip() ? 1 : 2;
  const std::uint32_t pp = tp * cp > 8 || random.flip() ? 1 : 2;
  constexpr std::array schedules{"1f1b", "zb-h1", "{name: interleaved-1f1b, chunks: 2}", "gpipe"};
  constexpr std::array recomputes{"none", "full", "{modules: [layernorm]}",
                                  "{modules: [core_attn, mlp]}"};
  return fmt::format(
      "{{cluster: {}, gpu: h100-sxm, model: llama-3-8b, parallel: {{tp: {}, cp: {}, pp: {}, dp: "
      "{}, zero: {}, sp: {}}}, schedule: {}, global_batch: {}, communication: {{tp_comm_overlap: "
      "{}, overlap_grad_reduce: {}, detail: {}}}, training: {{sequence: {}, precision: {}, "
      "recompute: {}}}, stack: {{like: megatron-core, rules: []}}}}",
      cluster, tp, cp, pp, 16 / tp / cp / pp, random.whole(0, 1), tp > 1,
      pp == 1 ? "1f1b" : schedules[random.whole(0, 3)], 16 * random.whole(1, 2),
      tp > 1 && random.flip(), random.flip(), random.flip() ? "fast" : "full",
      512U << random.whole(0, 3), random.flip() ? "bf16" : "fp8", recomputes[random.whole(0, 3)]);
}

double seconds(evaluation::Evaluator& evaluator, config::Value scenario,
               const std::string& graphs) {
  config::set_key(scenario, "training.cuda_graphs", config::make_text(graphs, {}));
  return evaluator.simulate(scenario).time_s;
}

// Returns the seconds of the run if the host takes `launch` for each kernel and each collective.
double seconds_with_host(evaluation::Evaluator& evaluator, config::Value scenario,
                         const std::string& launch) {
  for (const char* const key : {"stack.host.kernel", "stack.host.collective"})
    config::set_key(scenario, key, config::make_text(launch, {}));
  return evaluator.simulate(scenario).time_s;
}

}  // namespace

TEST_CASE("no layout gains from a slower host or loses from fewer launches", "[host]") {
  const config::test::Folder folder;
  const std::string cluster = folder.write(
      "c.xml", cluster::make_platform({.nodes = {{&cluster::find_node_kind("dgx-h100"), 2}}}));
  tests::Random random(16);
  evaluation::Evaluator evaluator(
      config::read_scenario(config::read_yaml_text(random_scenario(cluster, random), "s.yaml")), 0);
  int slower = 0;
  for (int round = 0; round < 24; ++round) {
    const std::string text = random_scenario(cluster, random);
    const config::Value scenario = config::read_yaml_text(text, "s.yaml");
    CAPTURE(text);
    double previous = 0;
    const double without_launches = seconds_with_host(evaluator, scenario, "0 us");
    for (const char* const launch : {"0 us", "20 us", "60 us", "140 us", "300 us"}) {
      const double current = seconds_with_host(evaluator, scenario, launch);
      CAPTURE(launch);
      CHECK(current >= previous * (1 - 1e-9));
      previous = current;
    }
    slower += previous > 1.01 * without_launches ? 1 : 0;
    const double by_kernel = seconds(evaluator, scenario, "none");
    const double by_layer = seconds(evaluator, scenario, "layer");
    const double by_iteration = seconds(evaluator, scenario, "iteration");
    CHECK(by_layer <= by_kernel * (1 + 1e-9));
    CHECK(by_iteration <= by_layer * (1 + 1e-9));
    CHECK(by_iteration == Approx(without_launches).epsilon(1e-9));
  }
  CHECK(slower > 10);
}
