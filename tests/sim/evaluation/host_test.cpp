#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "support/random.hpp"
#include "tests/sim/config/support.hpp"

// The host launches what the GPU runs: a slower one is never a gain, and launches that CUDA graphs
// save are never a loss.

using namespace pipewright;

namespace {

// Of 16 GPUs in two nodes.
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
      "recompute: {}}}}}",
      cluster, tp, cp, pp, 16 / tp / cp / pp, random.whole(0, 1), tp > 1,
      pp == 1 ? "1f1b" : schedules[random.whole(0, 3)], 16 * random.whole(1, 2),
      tp > 1 && random.flip(), random.flip(), random.flip() ? "fast" : "full",
      512U << random.whole(0, 3), random.flip() ? "bf16" : "fp8", recomputes[random.whole(0, 3)]);
}

double seconds(evaluation::Evaluator& evaluator, config::Value scenario, const std::string& key,
               const std::string& value) {
  config::set_key(scenario, key, config::make_text(value, {}));
  return evaluator.simulate(scenario).time_s;
}

}  // namespace

TEST_CASE("no layout gains by a slower host, or loses by fewer launches", "[host]") {
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
    double before = 0;
    const double none = seconds(evaluator, scenario, "gpu.launch", "0 us");
    for (const char* const launch : {"0 us", "20 us", "60 us", "140 us", "300 us"}) {
      const double now = seconds(evaluator, scenario, "gpu.launch", launch);
      CAPTURE(launch);
      CHECK(now >= before * (1 - 1e-9));
      before = now;
    }
    slower += before > 1.01 * none ? 1 : 0;
    const double each = seconds(evaluator, scenario, "training.cuda_graphs", "none");
    const double layers = seconds(evaluator, scenario, "training.cuda_graphs", "layer");
    const double all = seconds(evaluator, scenario, "training.cuda_graphs", "iteration");
    CHECK(layers <= each * (1 + 1e-9));
    CHECK(all <= layers * (1 + 1e-9));
    CHECK(all == Approx(none).epsilon(1e-9));
  }
  CHECK(slower > 10);
}
