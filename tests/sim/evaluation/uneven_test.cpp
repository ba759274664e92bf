#include <algorithm>
#include <optional>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/uneven_cost.hpp"
#include "sim/evaluation/work_and_memory.hpp"
#include "sim/execution/run.hpp"
#include "sim/workload/shape/shape.hpp"
#include "support/jobs.hpp"
#include "support/random.hpp"
#include "tests/sim/cluster/in_child.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using execution::EngineKind;
using schedules::PassKind;

namespace {

config::Scenario read(const std::string& text) {
  return config::read_scenario(config::read_yaml_text(text, "uneven.yaml"));
}

// A job planned from a scenario, and its simulation as `run` does it.
class Run {
 public:
  explicit Run(const std::string& text)
      : scenario(read(text)),
        hardware(evaluation::open_hardware(scenario)),
        plan(evaluation::plan_on(scenario, scenario.schedules.front(), hardware)),
        job(evaluation::make_job(scenario, hardware, plan)) {}

  trace::Trace trace(EngineKind engine = EngineKind::timing) const {
    trace::TraceCollector collector;
    execution::run(job, engine, {}, collector);
    return std::move(collector.trace);
  }
  double seconds(EngineKind engine = EngineKind::timing) const {
    return tests::last_end(trace(engine));
  }

  config::Scenario scenario;
  evaluation::Hardware hardware;
  workload::Plan plan;
  execution::Job job;
};

double forward(const trace::Trace& trace, std::uint32_t microbatch) {
  for (const trace::PassRow& row : trace.passes)
    if (row.kind == trace::PassKind::forward && row.microbatch == microbatch && row.stage == 0)
      return row.end - row.start;
  return 0;
}

// Writes the platform file of 16 GPUs in two nodes.
std::string two_nodes(const config::test::Folder& folder) {
  return folder.write(
      "two.xml", cluster::make_platform({.nodes = {{&cluster::find_node_kind("a100-4nic"), 2}}}));
}

constexpr const char* single_gpu =
    "{{model: megatron-1.7b, gpu: h100-sxm, microbatches: 2, engine: timing, training: {{sequence: "
    "8192, reserved: 0, {}}}}}";

}  // namespace

TEST_CASE("documents of the length of a sample change nothing", "[uneven]") {
  const Run plain(fmt::format(fmt::runtime(single_gpu), "fragmentation: 0.1"));
  const Run full_length(fmt::format(fmt::runtime(single_gpu), "lengths: {documents: [8192]}"));
  CHECK(full_length.job.uneven == nullptr);
  CHECK(full_length.seconds() == plain.seconds());
  CHECK(full_length.plan.costs.model_flops_per_microbatch ==
        Approx(plain.plan.costs.model_flops_per_microbatch).epsilon(1e-12));
}

TEST_CASE("two documents of half the length need half of the attention", "[uneven]") {
  const Run whole(fmt::format(fmt::runtime(single_gpu), "fragmentation: 0.1"));
  const Run halves(fmt::format(fmt::runtime(single_gpu), "lengths: {documents: [4096]}"));
  // FLOPs of causal attention: 2 products of 8192^2/2 pairs with 2,304 elements in 24 layers, three
  // times (for F, I and W).
  const double scores = 3 * 2 * 2 * 8192.0 * 8192 / 2 * 2304 * 24;
  CHECK(whole.plan.costs.model_flops_per_microbatch -
            halves.plan.costs.model_flops_per_microbatch ==
        Approx(scores / 2).epsilon(1e-9));
  CHECK(halves.job.uneven == nullptr);  // all microbatches are the same size
  CHECK(halves.seconds() < whole.seconds());
}

TEST_CASE("a microbatch takes time by the squares of its documents", "[uneven]") {
  // Microbatches hold one document of 8,192 tokens, or two of 4,096. They have 4/3 and 2/3 of the
  // mean number of attention pairs.
  const Run run(fmt::format(fmt::runtime(single_gpu), "lengths: {documents: [8192, 4096, 4096]}"));
  REQUIRE(run.job.uneven != nullptr);
  const double planned = run.plan.costs.times[PassKind::forward][0];
  const double attention = run.plan.costs.attention_share[0][0] * planned;
  CHECK(attention > 0.1 * planned);
  const trace::Trace trace = run.trace();
  CHECK(forward(trace, 0) == Approx(planned + attention / 3));
  CHECK(forward(trace, 1) == Approx(planned - attention / 3));
  CHECK(run.seconds(EngineKind::simgrid) == Approx(run.seconds()).epsilon(1e-9));
}

TEST_CASE("replicas wait for the one with the most work", "[uneven]") {
  const auto scenario = [](const char* balance) {
    return fmt::format(
        "{{model: megatron-1.7b, gpu: h100-sxm, microbatches: 1, engine: timing, parallel: {{dp: "
        "2}}, training: {{sequence: 8192, lengths: {{documents: [8192, 2048, 2048, 2048, 2048], "
        "balance: {}}}}}}}",
        balance);
  };
  const Run run(scenario("none"));
  // One microbatch has 8192^2 attention pairs, the other 4 x 2048^2: 8/5 and 2/5 of their mean.
  CHECK(run.job.uneven->work(0, 0).attention == Approx(1.6));
  CHECK(run.job.uneven->work(1, 0).attention == Approx(0.4));
  const double cost = evaluation::uneven_cost(run.scenario, run.hardware, run.plan.schedule);
  const double attention =
      0.6 * (run.plan.costs.attention_share[0][0] * run.plan.costs.times[PassKind::forward][0] +
             run.plan.costs.attention_share[static_cast<int>(PassKind::backward)][0] *
                 run.plan.costs.times[PassKind::backward][0]);
  CHECK(cost * run.seconds() == Approx(attention).epsilon(1e-6));
}

TEST_CASE("padding is computed but its tokens do not count", "[uneven]") {
  const Run run(fmt::format(
      fmt::runtime(single_gpu),
      "microbatch_size: 2, lengths: {documents: [1024, 7168, 4096, 4096], packed: false}"));
  // Unpacked documents are padded to the longest of the microbatch: 2 x 7,168 and 2 x 4,096 tokens
  // are computed, of which 8,192 in each microbatch are not padding.
  CHECK(evaluation::tokens_per_microbatch(run.scenario) == 8192);
  CHECK(run.job.uneven->work(0, 0).tokens == Approx(7168.0 / 5632));
  CHECK(run.job.uneven->work(0, 1).tokens == Approx(4096.0 / 5632));
  // Activations of padding also occupy memory.
  const trace::Trace trace = run.trace();
  std::uint64_t peak = 0;
  for (const trace::MemoryRow& row : trace.memory)
    if (row.category == trace::MemoryCategory::activations) peak = std::max(peak, row.bytes);
  const auto held = static_cast<double>(run.plan.costs.activations[0].held);
  CHECK(static_cast<double>(peak) == Approx(held * 7168 / 5632).epsilon(1e-6));
}

TEST_CASE("tokens that pad samples are less even over experts than text", "[uneven]") {
  const auto imbalance = [](const char* lengths) {
    const Run run(fmt::format(
        "{{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 2, engine: timing, parallel: {{ep: 8, "
        "dp: 8}}, training: {{sequence: 4096, lengths: {{documents: [1024], {}}}}}}}",
        lengths));
    return workload::sizes_of(run.scenario.model->value, run.scenario.training,
                              run.scenario.parallel)
        .imbalance;
  };
  // Three quarters of the tokens are padding, which visit 2 of the 8 ranks: half of 8 times 3/4
  // each, beside a quarter of a load that is 1 on average.
  CHECK(imbalance("packed: false, pad_to: sequence") > 3 + 0.25);
  CHECK(imbalance("packed: false, pad_to: sequence") < 3 + 0.25 * 1.5);
  CHECK(imbalance("packed: false") == imbalance("packed: true"));
}

TEST_CASE("the busiest rank of each layer and microbatch sets the time of its experts",
          "[uneven]") {
  const auto scenario = [](const char* experts, const char* model) {
    return fmt::format(
        "{{model: {}, gpu: h100-sxm, microbatches: 4, engine: timing, parallel: {{ep: 8, dp: 8}}, "
        "training: {{experts: {{{}}}}}}}",
        model, experts);
  };
  const Run run(scenario("power_law: 0.8", "mixtral-8x7b"));
  REQUIRE(run.job.uneven != nullptr);
  CHECK_FALSE(run.job.uneven->replicas_differ());
  const auto sizes =
      workload::sizes_of(run.scenario.model->value, run.scenario.training, run.scenario.parallel);
  CHECK(sizes.imbalance > 1.2);
  CHECK(sizes.peak_imbalance > sizes.imbalance);
  const trace::Trace trace = run.trace();
  const double planned = run.plan.costs.times[PassKind::forward][0];
  const double experts = run.plan.costs.experts_share[0][0] * planned;
  for (std::uint32_t microbatch = 0; microbatch < 4; ++microbatch)
    CHECK(forward(trace, microbatch) ==
          Approx(planned + (run.job.uneven->experts_ratio(0, microbatch) - 1) * experts));
  // The job takes more time and memory than with tokens spread evenly over experts.
  const Run balanced(scenario("routing: forced", "mixtral-8x7b"));
  CHECK(run.seconds() > balanced.seconds());
  CHECK(run.plan.costs.activations[0].held > balanced.plan.costs.activations[0].held);
  // With a capacity factor, every expert computes a full buffer, so that loads are equal.
  const config::Value capped =
      config::read_yaml_text(scenario("power_law: 0.8", "mixtral-8x7b"), "uneven.yaml");
  for (const char* const factor : {"1", "1.5"}) {
    config::Value root = capped;
    config::override_key(root, "model.experts.capacity_factor", factor, {});
    const config::Scenario filled = config::read_scenario(root);
    CHECK(workload::sizes_of(filled.model->value, filled.training, filled.parallel).imbalance == 1);
  }
}

TEST_CASE("natural routing is the default of a stack and never faster than forced", "[uneven]") {
  const auto scenario = [](const std::string& experts, std::uint32_t ep) {
    return fmt::format(
        "{{model: qwen3-30b-a3b, gpu: h100-sxm, microbatches: 4, engine: timing, parallel: {{ep: "
        "{}, dp: {}}}, training: {{experts: {{{}}}}}}}",
        ep, ep, experts);
  };
  double last = 1;
  for (const std::uint32_t ep : {1, 4, 16, 64}) {
    CAPTURE(ep);
    const double forced = Run(scenario("routing: forced", ep)).seconds();
    const double natural = Run(scenario("routing: natural", ep)).seconds();
    CHECK(Run(scenario("sms: 16", ep)).seconds() == natural);
    CHECK(natural >= forced);
    CHECK(natural / forced >= last);
    last = natural / forced;
    CHECK(Run(scenario("routing: {imbalance: 1}", ep)).seconds() >= forced);
    // Experts that drop what is above the mean have the time of forced routing.
    CHECK(Run(scenario("routing: natural, drop_above: 1", ep)).seconds() ==
          Approx(forced).epsilon(1e-9));
  }
  CHECK(last > 1.06);
  CHECK(last < 1.9);
  const Run uneven(scenario("routing: {imbalance: 1.3}", 16));
  CHECK(uneven.seconds() == Run(scenario("imbalance: 1.3", 16)).seconds());
  CHECK(evaluation::uneven_cost(uneven.scenario, uneven.hardware, uneven.plan.schedule) > 0);
}

// Draws of n layers are independent, so that the tokens of a rank deviate by 1 / sqrt(n) of what
// the tokens in one layer deviate by. The sum of four times the layers deviates twice as much.
TEST_CASE("activations of many layers vary less than those of one layer", "[uneven]") {
  const auto held = [](const std::string& experts, std::uint32_t pp) {
    const Run run(fmt::format(
        "{{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 4, engine: timing, parallel: {{pp: "
        "{}, ep: 8, dp: 8}}, training: {{experts: {{{}}}}}}}",
        pp, experts));
    return static_cast<double>(run.plan.costs.activations[0].held);
  };
  const auto excess = [&](const std::string& experts, std::uint32_t pp) {
    return held(experts, pp) - held("routing: forced", pp);
  };
  CHECK(excess("routing: natural", 4) > 0);
  CHECK(excess("routing: natural", 1) == Approx(2 * excess("routing: natural", 4)).epsilon(1e-6));
  CHECK(excess("power_law: 0.8", 1) == Approx(2 * excess("power_law: 0.8", 4)).epsilon(1e-6));
  // A given imbalance is that of every layer.
  CHECK(excess("imbalance: 1.3", 1) == Approx(4 * excess("imbalance: 1.3", 4)).epsilon(1e-6));
}

TEST_CASE("the same seed draws the same routing", "[uneven]") {
  const auto seconds = [](int seed) {
    return Run(fmt::format("{{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 4, engine: timing, "
                           "parallel: {{ep: 8, dp: 8}}, variation: {{seed: {}}}}}",
                           seed))
        .seconds();
  };
  CHECK(seconds(1) == seconds(1));
  CHECK(seconds(1) != seconds(2));
}

TEST_CASE("both engines agree on uneven microbatches, in both details", "[uneven]") {
  const config::test::Folder folder;
  const std::string file = two_nodes(folder);
  for (const char* const uneven :
       {"lengths: {mean: 700, p95: 2000}", "lengths: {mean: 700, p95: 2000, packed: false}",
        "experts: {power_law: 0.8}", "experts: {routing: natural}"})
    for (const char* const detail : {"fast", "full"}) {
      const std::string times = tests::in_child([&] {
        const Run run(fmt::format(
            "{{cluster: {}, model: mixtral-8x7b, global_batch: 6, parallel: {{tp: 2, ep: 2, etp: "
            "1, pp: 4, sp: true}}, communication: {{detail: {}}}, training: {{sequence: 4096, "
            "{}}}}}",
            file, detail, uneven));
        return fmt::format("{} {}", run.seconds(EngineKind::simgrid), run.seconds());
      });
      CAPTURE(uneven, detail, times);  // flows have whole bytes
      CHECK(std::stod(times) == Approx(std::stod(times.substr(times.find(' ')))).epsilon(1e-5));
    }
}

TEST_CASE("a symmetric run simulates the replica with the most work", "[uneven]") {
  const auto scenario = [](const char* symmetric) {
    return fmt::format(
        "{{model: megatron-1.7b, gpu: h100-sxm, global_batch: 48, engine: timing, symmetric: {}, "
        "parallel: {{dp: 4, pp: 4}}, training: {{sequence: 8192, lengths: {{mean: 2000, p95: "
        "6000}}}}}}",
        symmetric);
  };
  const Run full(scenario("false"));
  const Run symmetric(scenario("true"));
  CHECK(symmetric.seconds() == Approx(full.seconds()).epsilon(0.01));
  CHECK(symmetric.seconds() <= full.seconds() * (1 + 1e-12));
}

TEST_CASE("bounds do not exceed simulations with uneven microbatches", "[uneven]") {
  const config::test::Folder folder;
  const std::string file = two_nodes(folder);
  tests::Random random(11);
  const auto one_of = [&](std::initializer_list<const char*> options) {
    return *(options.begin() + random.whole(0, static_cast<std::uint32_t>(options.size()) - 1));
  };
  std::optional<evaluation::Evaluator> evaluator;
  int simulated = 0;
  for (int round = 0; round < 24; ++round) {
    const std::uint32_t pp = 1U << random.whole(0, 2);
    const std::uint32_t dp = 1U << random.whole(0, 2);
    const bool experts = random.flip();
    const std::string text = fmt::format(
        "{{cluster: {}, model: {}, global_batch: {}, iterations: {}, schedule: {}, parallel: {{pp: "
        "{}, dp: {}, ep: {}, zero: {}}}, communication: {{detail: {}}}, training: {{sequence: "
        "2048, microbatch_size: 2, lengths: {{mean: 500, p95: 1600, packed: {}, balance: "
        "{}}}{}}}}}",
        file, experts ? "mixtral-8x7b" : "megatron-1.7b", dp * 2 * random.whole(2, 6),
        random.whole(1, 2), one_of({"1f1b", "gpipe", "zb-h1", "searched"}), pp, dp,
        experts ? dp : 1, random.whole(0, 3), one_of({"fast", "full"}), one_of({"true", "false"}),
        one_of({"none", "length"}),
        experts ? random.flip() ? ", experts: {power_law: 0.7}" : ", experts: {routing: natural}"
                : "");
    CAPTURE(text);
    const config::Value scenario = config::read_yaml_text(text, "uneven.yaml");
    if (!evaluator) evaluator.emplace(config::read_scenario(scenario), std::uint64_t{1} << 40U);
    const analysis::CandidateRow row = evaluator->assess(scenario).front();
    CAPTURE(row.note);
    if (row.outcome != analysis::Outcome::open) continue;
    ++simulated;
    const analysis::CandidateRow result = evaluator->simulate(scenario);
    CHECK(row.bound_s > 0.2 * result.time_s);
    CHECK(row.bound_s <= result.time_s * (1 + 1e-9));
  }
  CHECK(simulated > 12);
}
