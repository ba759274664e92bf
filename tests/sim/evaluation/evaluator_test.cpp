#include "sim/evaluation/evaluator.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/search/row_json.hpp"
#include "analysis/report/summary.hpp"
#include "schedules/families/catalog.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/work_and_memory.hpp"
#include "sim/execution/run.hpp"
#include "support/random.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using analysis::CandidateRow;
using analysis::Outcome;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

config::Value tree(const std::string& text) { return config::read_yaml_text(text, "sweep.yaml"); }

// A platform file of 32 GPUs in four nodes with slow uplinks.
class ThinCluster {
 public:
  ThinCluster()
      : file_(folder_.write("thin.xml", cluster::make_platform(
                                            {.nodes = {{&cluster::find_node_kind("a100-4nic"), 4}},
                                             .fabric = "leaf-spine",
                                             .oversubscription = 4,
                                             .leaf_nodes = 1}))) {}

  config::Value scenario(const std::string& schedules, const std::string& more) const {
    return tree(fmt::format("{{cluster: {}, model: llama-3-8b, schedule: {}, {}}}", file_,
                            schedules, more));
  }
  const std::string& file() const { return file_; }

 private:
  config::test::Folder folder_;
  std::string file_;
};

std::string all_schedules() {
  std::vector<std::string_view> names;
  for (const schedules::Entry& entry : schedules::catalog()) names.push_back(entry.name);
  return fmt::format("[{}]", fmt::join(names, ", "));
}

std::string random_layout(tests::Random& random) {
  const std::uint32_t tp = 1U << random.whole(0, 2);
  const std::uint32_t pp = 1U << random.whole(0, 4 - (tp == 4 ? 2 : tp == 2 ? 1 : 0));
  return fmt::format(
      "parallel: {{tp: {}, pp: {}, dp: {}, zero: {}, sequence: {}}}, global_batch: {}, training: "
      "{{sequence: 2048, recompute: {}, fragmentation: {}}}, p2p: {}",
      tp, pp, 16 / tp / pp, random.whole(0, 3), random.flip(), 16 * random.whole(1, 3),
      random.flip() ? "full" : "none", random.flip() ? 0 : 0.1,
      random.flip() ? "eager" : "blocking");
}

config::Value with_schedule(const config::Value& scenario, std::size_t index) {
  config::Value single = scenario;
  const config::Value schedule = config::find(single, "schedule")->items.at(index);
  *config::find(single, "schedule") = schedule;
  return single;
}

std::string text_of(const CandidateRow& row) { return analysis::to_json_line(row); }

}  // namespace

TEST_CASE("simulations confirm what is assessed", "[evaluator]") {
  const ThinCluster cluster;
  tests::Random random(4);
  const config::Value scenario = cluster.scenario("1f1b", "parallel: {pp: 4}, microbatches: 4");
  evaluation::Evaluator evaluator(config::read_scenario(scenario), 0);
  int simulated = 0;
  for (int round = 0; round < 5; ++round) {
    const config::Value candidates = cluster.scenario(all_schedules(), random_layout(random));
    const std::vector<CandidateRow> rows = evaluator.assess(candidates);
    REQUIRE(rows.size() == schedules::catalog().size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const CandidateRow& row = rows[i];
      CAPTURE(config::to_yaml(with_schedule(candidates, i)), row.note);
      CHECK((row.outcome == Outcome::open) == row.note.empty());
      if (row.outcome == Outcome::does_not_fit) CHECK(row.peak_bytes > row.capacity_bytes);
      if (row.outcome != Outcome::open) continue;
      ++simulated;
      const CandidateRow result = evaluator.simulate(with_schedule(candidates, i));
      CHECK(result.outcome == Outcome::simulated);
      CHECK(row.bound_s > 0);
      CHECK(row.bound_s <= result.time_s * (1 + 1e-9));
      CHECK(row.bound_s >= result.time_s * 0.2);
      CHECK(result.peak_bytes == row.peak_bytes);
      CHECK(result.capacity_bytes == row.capacity_bytes);
      CHECK(result.work.model_flop == row.work.model_flop);
      CHECK(result.work.peak_flops == row.work.peak_flops);
      const analysis::TimeParts& parts = result.parts;
      CHECK(parts.compute + parts.in_passes + parts.p2p + parts.gradients + parts.weights +
                parts.optimizer + parts.idle ==
            Approx(result.time_s).epsilon(1e-12));
      for (const double part : {parts.compute, parts.in_passes, parts.p2p, parts.gradients,
                                parts.weights, parts.optimizer, parts.idle})
        CHECK(part >= -1e-12);
    }
  }
  CHECK(simulated > 50);
}

TEST_CASE("recomputation that frees nothing is illegal", "[evaluator]") {
  const ThinCluster cluster;
  const auto scenario = [&](const std::string& training) {
    return cluster.scenario(
        "1f1b", "parallel: {tp: 2, pp: 4, dp: 2}, global_batch: 32, training: {" + training + "}");
  };
  evaluation::Evaluator evaluator(config::read_scenario(scenario("recompute: full")), 0);
  const auto outcome = [&](const std::string& training) {
    return evaluator.assess(scenario(training)).front();
  };
  CHECK(outcome("recompute: selective").outcome == Outcome::illegal);
  CHECK_THAT(outcome("recompute: selective").note,
             Catch::StartsWith("recompute selective frees nothing of this model"));
  CHECK(outcome("recompute: selective, flash_attention: false").outcome != Outcome::illegal);
  CHECK(outcome("recompute: {modules: [mlp]}").outcome != Outcome::illegal);
  const auto on_fsdp = [&](const std::string& training) {
    return evaluator
        .assess(cluster.scenario("1f1b",
                                 "stack: pytorch-fsdp, parallel: {tp: 2, pp: 4, dp: 2}, "
                                 "global_batch: 32, training: {" +
                                     training + "}"))
        .front();
  };
  CHECK(on_fsdp("recompute: none").outcome != Outcome::illegal);
  CHECK(on_fsdp("recompute: full").outcome != Outcome::illegal);
}

TEST_CASE("a candidate that its stack refuses is illegal unless rules are lifted", "[evaluator]") {
  const ThinCluster cluster;
  const auto scenario = [&](const std::string& more) {
    return cluster.scenario("[1f1b, {name: interleaved-1f1b, chunks: 2}, zb-v]",
                            "global_batch: 16, " + more);
  };
  const std::string layout = "parallel: {tp: 4, dp: 4}";
  evaluation::Evaluator evaluator(config::read_scenario(scenario(layout)), 0);
  evaluation::Evaluator lenient(config::read_scenario(scenario(layout)), 0, false);
  for (const analysis::Basis basis :
       {analysis::Basis::passes, analysis::Basis::network, analysis::Basis::order}) {
    const std::vector<CandidateRow> rows = evaluator.assess(scenario(layout), basis);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].outcome != Outcome::illegal);
    for (const std::size_t interleaved : {1, 2}) {
      CHECK(rows[interleaved].outcome == Outcome::illegal);
      CHECK_THAT(rows[interleaved].note,
                 Equals("megatron-core refuses this job: interleaved stages need a pp of at least "
                        "2, and pp is 1"));
    }
    for (const CandidateRow& row : lenient.assess(scenario(layout), basis))
      CHECK(row.outcome != Outcome::illegal);
  }
  for (const CandidateRow& row : evaluator.assess(scenario("parallel: {tp: 2, pp: 2, dp: 4}")))
    CHECK(row.outcome != Outcome::illegal);
  for (const CandidateRow& row : evaluator.assess(scenario(layout + ", stack: llm-foundry"))) {
    CHECK(row.outcome == Outcome::illegal);
    CHECK_THAT(row.note, Equals("llm-foundry refuses this job: there is no tensor parallelism, and "
                                "tp is 4"));
  }
}

TEST_CASE("a named stack refuses pipelines with schedules that it lacks", "[evaluator]") {
  const ThinCluster cluster;
  const auto rows_of = [&](const std::string& more, bool has_rules = true) {
    const config::Value scenario =
        cluster.scenario("[1f1b, zb-h1, zb-v]", "global_batch: 16, " + more);
    return evaluation::Evaluator(config::read_scenario(scenario), 0, has_rules).assess(scenario);
  };
  const auto count_refused = [](const std::vector<CandidateRow>& rows) {
    return std::ranges::count(rows, Outcome::illegal, &CandidateRow::outcome);
  };
  const std::string pipeline = "parallel: {tp: 2, pp: 2, dp: 4}";
  const std::vector<CandidateRow> rows = rows_of(pipeline + ", stack: megatron-core");
  CHECK(rows[0].outcome != Outcome::illegal);
  for (const std::size_t zero_bubble : {1, 2}) CHECK(rows[zero_bubble].outcome == Outcome::illegal);
  CHECK_THAT(rows[1].note,
             Equals("megatron-core refuses this job: its pipelines do not run zb-h1"));
  CHECK(count_refused(rows_of(pipeline + ", stack: megatron-core", false)) == 0);
  CHECK(count_refused(rows_of(pipeline + ", stack: {like: megatron-core, schedules: []}")) == 0);
  CHECK(count_refused(rows_of(pipeline + ", stack: torchtitan")) == 0);
  CHECK(count_refused(rows_of(pipeline)) == 0);  // the default stack is an assumption
}

TEST_CASE("without a pipeline, a named stack accumulates gradients plainly", "[evaluator]") {
  const ThinCluster cluster;
  const auto rows_of = [&](const std::string& stack) {
    const config::Value scenario = cluster.scenario(
        "[1f1b, gpipe, zb-h1, seq1f1b]", "global_batch: 16, parallel: {tp: 4, dp: 4}" + stack);
    return evaluation::Evaluator(config::read_scenario(scenario), 0).assess(scenario);
  };
  for (const CandidateRow& row : rows_of("")) CHECK(row.outcome != Outcome::illegal);
  const std::vector<CandidateRow> rows = rows_of(", stack: torchtitan");
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].outcome != Outcome::illegal);
  CHECK(rows[1].outcome != Outcome::illegal);
  CHECK_THAT(rows[2].note,
             Equals("torchtitan refuses this job: zb-h1 needs a pipeline, and pp is 1"));
  CHECK_THAT(rows[3].note, Equals("torchtitan refuses this job: its pipelines do not run seq1f1b"));
  // Megatron-Core runs a backward pass after each forward pass.
  CHECK_THAT(rows_of(", stack: megatron-core")[1].note,
             Equals("megatron-core refuses this job: its pipelines do not run gpipe"));
}

TEST_CASE("a ZeRO level without ranks to shard over breaks no rule", "[evaluator]") {
  const ThinCluster cluster;
  const auto outcome = [&](const std::string& layout) {
    const config::Value scenario =
        cluster.scenario("1f1b", "stack: torchtitan, global_batch: 16, parallel: {" + layout + "}");
    return evaluation::Evaluator(config::read_scenario(scenario), 0)
        .assess(scenario)
        .front()
        .outcome;
  };
  CHECK(outcome("tp: 4, dp: 4, zero: 1") == Outcome::illegal);
  CHECK(outcome("tp: 4, dp: 4, zero: 3") != Outcome::illegal);
  CHECK(outcome("tp: 4, dp: 1, zero: 1") != Outcome::illegal);
}

TEST_CASE("the rates of a row equal those of the run's summary", "[evaluator]") {
  const ThinCluster cluster;
  const config::Value scenario =
      cluster.scenario("1f1b",
                       "parallel: {tp: 2, pp: 4, dp: 2}, global_batch: 32, iterations: 2, "
                       "training: {sequence: 1024, recompute: full}");
  const config::Scenario parsed = config::read_scenario(scenario);
  evaluation::Hardware hardware = evaluation::open_hardware(parsed);
  workload::Plan plan = workload::make_plan(parsed, parsed.schedules.front(), hardware.gpus);
  const execution::Job job = evaluation::make_job(parsed, hardware, plan);
  analysis::SummarySink sink;
  execution::run(job, execution::EngineKind::simgrid,
                 {.samples_per_microbatch = evaluation::samples_per_microbatch(parsed),
                  .tokens_per_microbatch = evaluation::tokens_per_microbatch(parsed)},
                 sink);
  const analysis::Summary& summary = sink.summary();
  const analysis::IterationWork work = evaluation::work_of(parsed, plan.schedule, plan.costs);
  const double time = summary.makespan_s / 2;
  CHECK(work.gpus == 16);
  CHECK(work.samples == 32);
  CHECK(work.samples / time == Approx(summary.samples_per_s.value()));
  CHECK(work.tokens / time == Approx(summary.tokens_per_s.value()));
  CHECK(analysis::throughput(work, time) == Approx(summary.tokens_per_s.value()));
  CHECK(analysis::mfu(work, time) == Approx(summary.mfu.value()));
}

TEST_CASE("rows do not depend on other assessments", "[evaluator]") {
  const ThinCluster cluster;
  tests::Random random(11);
  std::vector<config::Value> scenarios;
  for (int i = 0; i < 6; ++i)
    scenarios.push_back(cluster.scenario(all_schedules(), random_layout(random)));
  evaluation::Evaluator evaluator(config::read_scenario(scenarios.front()), 0);
  std::vector<std::vector<std::string>> expected;
  for (const config::Value& scenario : scenarios) {
    expected.emplace_back();
    for (const CandidateRow& row : evaluator.assess(scenario))
      expected.back().push_back(text_of(row));
  }
  for (std::size_t number = scenarios.size(); number-- > 0;)
    for (std::size_t i = expected[number].size(); i-- > 0;) {
      const auto single = evaluator.assess(with_schedule(scenarios[number], i));
      REQUIRE(single.size() == 1);
      CHECK(text_of(single.front()) == expected[number][i]);
    }
}

TEST_CASE("errors of candidates do not contain the location in the sweep", "[evaluator]") {
  const ThinCluster cluster;
  const config::Value fine =
      cluster.scenario("1f1b", "parallel: {tp: 2, pp: 4, dp: 2}, global_batch: 32");
  evaluation::Evaluator evaluator(config::read_scenario(fine), 0);
  const auto note = [&](const std::string& schedules, const std::string& more) {
    const auto rows = evaluator.assess(cluster.scenario(schedules, more));
    REQUIRE(!rows.empty());
    CAPTURE(schedules, more, rows.back().note);
    for (const CandidateRow& row : rows) CHECK(row.outcome == Outcome::illegal);
    return rows.back().note;
  };
  CHECK_THAT(note("1f1b", "parallel: {tp: 3, pp: 1}, global_batch: 8"),
             Equals("parallel.tp is 3, which does not divide the model's heads (32); allowed: a "
                    "divisor, such as 2 or 4"));
  CHECK_THAT(note("[1f1b, gpipe]", "parallel: {pp: 2, dp: 3}, global_batch: 16"),
             Contains("global_batch is 16") && !Contains("sweep.yaml"));
  CHECK_THAT(note("1f1b", "parallel: {pp: 4, dp: 9}, global_batch: 36"), Contains("has 32 GPUs"));
  CHECK_THAT(note("dualpipe", "parallel: {pp: 4, dp: 2, zero: 2}, global_batch: 32"),
             Contains("ZeRO-2"));
  CHECK_THAT(note("dualpipe", "parallel: {pp: 4}, microbatches: 5"), Contains("dualpipe"));
  CHECK_THAT(note("{name: 1f1b, chunks: 2}", "parallel: {pp: 4}, microbatches: 8"),
             Contains("takes no number of chunks"));
  CHECK_THAT(note("nosuch", "parallel: {pp: 4}, microbatches: 8"), Contains("nosuch"));
  CHECK_THAT(note("1f1b", "parallel: {pp: 16}, partition: [1, 2], microbatches: 8"),
             Contains("partition"));
  CHECK_THAT(note("1f1b",
                  "parallel: {pp: 2}, microbatches: 8, variation: {stragglers: {device: 7, "
                  "factor: 2}}"),
             Equals("device 7 does not exist; allowed: 0 to 1"));
  CHECK_THAT(note("1f1b", "parallel: {pp: 2}, microbatches: 2, variation: {jitter: 10 %}"),
             Contains("jitter"));
  CHECK_THAT(note("1f1b", "parallel: {pp: 2}, microbatches: 2, nosuch: 1"), Contains("nosuch"));
  CHECK(evaluator.assess(fine).front().outcome == Outcome::open);
}

TEST_CASE("candidates report their peak memory and capacity", "[evaluator]") {
  const ThinCluster cluster;
  const config::Value scenario =
      cluster.scenario("[1f1b, gpipe]",
                       "parallel: {tp: 4, pp: 4}, microbatches: 16, training: "
                       "{sequence: 4096}");
  evaluation::Evaluator roomy(config::read_scenario(scenario), 0);
  const auto rows = roomy.assess(scenario);
  CHECK(rows[0].outcome == Outcome::open);
  CHECK(rows[0].capacity_bytes > rows[0].peak_bytes);
  CHECK(rows[1].peak_bytes > rows[0].peak_bytes);
}

TEST_CASE("a memory limit replaces the memory of the cluster's GPUs", "[evaluator]") {
  const ThinCluster cluster;
  const config::Value scenario =
      cluster.scenario("1f1b", "parallel: {tp: 4, pp: 4}, microbatches: 16");
  const std::uint64_t limit = std::uint64_t{8} << 30U;
  evaluation::Evaluator evaluator(config::read_scenario(scenario), limit);
  const CandidateRow row = evaluator.assess(scenario).front();
  CHECK(row.outcome == Outcome::does_not_fit);
  CHECK(row.capacity_bytes == limit);
  CHECK(row.bound_s == 0);
  CHECK_THAT(row.note, Contains(" of 8.0 GiB: ") && Contains("activations ") &&
                           Contains("optimizer state ") && Contains(" too much"));
  CHECK(row.note.starts_with("device "));
}

TEST_CASE("slow links of a candidate do not affect the next one", "[evaluator]") {
  const ThinCluster cluster;
  const std::string layout = "parallel: {tp: 4, pp: 4}, microbatches: 16";
  const config::Value plain = cluster.scenario("1f1b", layout);
  evaluation::Evaluator evaluator(config::read_scenario(plain), 0);
  const CandidateRow before = evaluator.assess(plain).front();
  const auto cluster_links = [&](const char* link, const char* factor) {
    return cluster.scenario(
        "1f1b", fmt::format("{}, variation: {{slow_links: {{link: {}, factor: {}}}}}", layout, link,
                            factor));
  };
  const auto slowed = evaluator.assess(cluster_links("leaf-0-up", "0.01")).front();
  INFO(slowed.note);
  CHECK(slowed.bound_s > before.bound_s * 1.001);
  const auto failed = evaluator.assess(cluster_links("leaf-0-up", "0")).front();
  CHECK(failed.outcome == Outcome::illegal);
  CHECK_THAT(failed.note, Contains("leaf-0-up") && Contains("has failed"));
  CHECK(evaluator.assess(plain).front().bound_s == Approx(before.bound_s).epsilon(1e-12));
}

TEST_CASE("a faster network of a candidate does not affect the next one", "[evaluator]") {
  const ThinCluster cluster;
  const std::string layout = "parallel: {tp: 4, pp: 4}, microbatches: 16";
  const config::Value plain = cluster.scenario("1f1b", layout);
  evaluation::Evaluator evaluator(config::read_scenario(plain), 0);
  const double before = evaluator.assess(plain).front().bound_s;
  const auto bound_with = [&](const char* variation) {
    const auto row =
        evaluator
            .assess(cluster.scenario("1f1b", fmt::format("{}, variation: {}", layout, variation)))
            .front();
    INFO(row.note);
    return row.bound_s;
  };
  CHECK(bound_with("{bandwidth: 0.1}") > before * 1.001);
  CHECK(bound_with("{bandwidth: 4, latency: 0.1}") < before);
  CHECK(bound_with("{bandwidth: {all: 0.5}}") == Approx(bound_with("{bandwidth: 0.5}")));
  CHECK(evaluator.assess(plain).front().bound_s == Approx(before).epsilon(1e-12));
  CHECK_THAT(evaluator.assess(cluster.scenario("1f1b", layout + ", variation: {bandwidth: {x: 2}}"))
                 .front()
                 .note,
             Contains("no links of class 'x'; allowed: "));
}

TEST_CASE("bounds of time and memory grow with the basis they use", "[evaluator]") {
  using analysis::Basis;
  const ThinCluster cluster;
  tests::Random random(11);
  const config::Value scenario = cluster.scenario("1f1b", "parallel: {pp: 4}, microbatches: 4");
  evaluation::Evaluator evaluator(config::read_scenario(scenario), 0);
  int open = 0;
  for (int round = 0; round < 40; ++round) {
    const std::string more =
        random_layout(random) + fmt::format(", iterations: {}", random.whole(1, 2));
    const config::Value candidates = cluster.scenario(all_schedules(), more);
    const std::vector<CandidateRow> detailed = evaluator.assess(candidates);
    std::vector<CandidateRow> previous = evaluator.assess(candidates, Basis::passes);
    for (const Basis basis : {Basis::network, Basis::order}) {
      const std::vector<CandidateRow> rows = evaluator.assess(candidates, basis);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(config::to_yaml(with_schedule(candidates, i)), rows[i].note, previous[i].note,
                static_cast<int>(basis));
        CHECK(rows[i].basis <= basis);
        if (previous[i].outcome == Outcome::does_not_fit) {
          CHECK(detailed[i].outcome != Outcome::open);
          if (detailed[i].outcome == Outcome::does_not_fit)
            CHECK(previous[i].peak_bytes <= detailed[i].peak_bytes);
        }
        if (rows[i].outcome != Outcome::open) continue;
        ++open;
        CHECK(previous[i].outcome == Outcome::open);
        CHECK(previous[i].bound_s > 0);
        CHECK(previous[i].bound_s <= rows[i].bound_s * (1 + 1e-12));
        CHECK(previous[i].peak_bytes <= rows[i].peak_bytes);
        CHECK(previous[i].work.tokens == rows[i].work.tokens);
        CHECK(previous[i].work.model_flop == rows[i].work.model_flop);
      }
      previous = rows;
    }
  }
  CHECK(open > 400);
}

TEST_CASE("a fixed order of passes is bounded before its gradients are reduced",
          "[evaluator][bounds]") {
  using analysis::Basis;
  const ThinCluster cluster;
  const config::Value scenario =
      cluster.scenario("1f1b", "parallel: {tp: 4, pp: 4}, microbatches: 4");
  evaluation::Evaluator evaluator(config::read_scenario(scenario), 0);
  const CandidateRow passes = evaluator.assess(scenario, Basis::passes).front();
  const CandidateRow network = evaluator.assess(scenario, Basis::network).front();
  const CandidateRow order = evaluator.assess(scenario, Basis::order).front();
  CHECK(passes.activities == 0);
  CHECK(network.basis == Basis::network);
  CHECK(network.activities == order.activities);
  CHECK(network.peak_bytes == order.peak_bytes);
  CHECK(passes.peak_bytes < network.peak_bytes);
  // The collectives of tp lengthen each pass, and hops between stages fill and drain the pipeline.
  CHECK(network.bound_s > 1.05 * passes.bound_s);
  CHECK(network.bound_s <= order.bound_s * (1 + 1e-12));
  const auto knows_order = [&](const char* schedule, Basis basis) {
    const config::Value planned =
        cluster.scenario(schedule, "parallel: {tp: 4, pp: 4}, microbatches: 4");
    return evaluator.assess(planned, basis).front().activities > 0;
  };
  CHECK_FALSE(knows_order("zb-1p", Basis::network));
  CHECK(knows_order("zb-1p", Basis::order));
}

TEST_CASE("candidates with uneven microbatches have bounds without an order of passes",
          "[evaluator]") {
  using analysis::Basis;
  const ThinCluster cluster;
  const std::string experts =
      "parallel: {tp: 1, ep: 4, pp: 2, dp: 8, sp: true, "
      "zero: 1}, training: {sequence: 512}";
  for (const std::string& more :
       {experts, experts + ", variation: {stragglers: {device: 1, factor: 1.4}}",
        std::string(
            "parallel: {tp: 2, sp: true, pp: 2, dp: 4}, training: {sequence: 512, lengths: {mean: "
            "100, p95: 300, packed: false}}")}) {
    const config::Value scenario =
        tree(fmt::format("{{cluster: {}, model: {{name: small, layers: 4, hidden: 512, heads: 8, "
                         "vocabulary: 1000, sequence: 512, experts: {{count: 8, top_k: 2, ffn: "
                         "512}}}}, schedule: [1f1b, zb-h1, dualpipe-v, chimera], global_batch: 64, "
                         "{}}}",
                         cluster.file(), more));
    evaluation::Evaluator evaluator(config::read_scenario(with_schedule(scenario, 0)), 0);
    for (const Basis basis : {Basis::passes, Basis::network}) {
      const std::vector<CandidateRow> rows = evaluator.assess(scenario, basis);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(more, i, static_cast<int>(basis), rows[i].note);
        REQUIRE(rows[i].outcome == Outcome::open);
        CHECK(rows[i].basis == basis);
        const CandidateRow simulated = evaluator.simulate(with_schedule(scenario, i));
        CHECK(rows[i].bound_s <= simulated.time_s);
        CHECK(rows[i].bound_s > 0.3 * simulated.time_s);
        CHECK(rows[i].peak_bytes <= simulated.peak_bytes);
      }
    }
  }
}

TEST_CASE("on one device, the bound of uneven microbatches without an order is that with it",
          "[evaluator]") {
  const config::Value scenario = tree(
      "{model: {name: wide, layers: 4, hidden: 4096, heads: 32, vocabulary: 1000, sequence: 4096, "
      "experts: {count: 8, top_k: 2, ffn: 4096}}, gpu: a100-80gb, schedule: 1f1b, "
      "parallel: {tp: 1, ep: 4, pp: 1, dp: 4}, microbatches: 8}");
  evaluation::Evaluator evaluator(config::read_scenario(scenario), 0);
  const double rough = evaluator.assess(scenario, analysis::Basis::network).front().bound_s;
  const double ordered = evaluator.assess(scenario, analysis::Basis::order).front().bound_s;
  CHECK(rough == Approx(ordered).epsilon(1e-8));
}
