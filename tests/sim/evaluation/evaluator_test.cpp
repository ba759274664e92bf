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

// 32 GPUs in four nodes behind thin uplinks.
class Thin {
 public:
  Thin()
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
  config::Value one = scenario;
  const config::Value schedule = config::find(one, "schedule")->items.at(index);
  *config::find(one, "schedule") = schedule;
  return one;
}

std::string text_of(const CandidateRow& row) { return analysis::to_json_line(row); }

}  // namespace

TEST_CASE("what is assessed is what the simulation then finds", "[evaluator]") {
  const Thin thin;
  tests::Random random(4);
  const config::Value first = thin.scenario("1f1b", "parallel: {pp: 4}, microbatches: 4");
  evaluation::Evaluator evaluator(config::read_scenario(first), 0);
  int simulated = 0;
  for (int round = 0; round < 5; ++round) {
    const config::Value scenario = thin.scenario(all_schedules(), random_layout(random));
    const std::vector<CandidateRow> rows = evaluator.assess(scenario);
    REQUIRE(rows.size() == schedules::catalog().size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const CandidateRow& row = rows[i];
      CAPTURE(config::to_yaml(with_schedule(scenario, i)), row.note);
      CHECK((row.outcome == Outcome::open) == row.note.empty());
      if (row.outcome == Outcome::does_not_fit) CHECK(row.peak_bytes > row.capacity_bytes);
      if (row.outcome != Outcome::open) continue;
      ++simulated;
      const CandidateRow found = evaluator.simulate(with_schedule(scenario, i));
      CHECK(found.outcome == Outcome::simulated);
      CHECK(row.bound_s > 0);
      CHECK(row.bound_s <= found.time_s * (1 + 1e-9));
      CHECK(row.bound_s >= found.time_s * 0.2);
      CHECK(found.peak_bytes == row.peak_bytes);
      CHECK(found.capacity_bytes == row.capacity_bytes);
      CHECK(found.work.model_flop == row.work.model_flop);
      CHECK(found.work.peak_flops == row.work.peak_flops);
      const analysis::TimeParts& parts = found.parts;
      CHECK(parts.compute + parts.in_passes + parts.p2p + parts.gradients + parts.weights +
                parts.optimizer + parts.idle ==
            Approx(found.time_s).epsilon(1e-12));
      for (const double part : {parts.compute, parts.in_passes, parts.p2p, parts.gradients,
                                parts.weights, parts.optimizer, parts.idle})
        CHECK(part >= -1e-12);
    }
  }
  CHECK(simulated > 50);
}

TEST_CASE("recomputation that frees nothing is no candidate of its own", "[evaluator]") {
  const Thin thin;
  const auto scenario = [&](const std::string& training) {
    return thin.scenario(
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
}

TEST_CASE("rates of a row are those of the run's summary", "[evaluator]") {
  const Thin thin;
  const config::Value scenario =
      thin.scenario("1f1b",
                    "parallel: {tp: 2, pp: 4, dp: 2}, global_batch: 32, iterations: 2, "
                    "training: {sequence: 1024, recompute: full}");
  const config::Scenario read = config::read_scenario(scenario);
  evaluation::Hardware hardware = evaluation::open_hardware(read);
  workload::Plan plan = workload::make_plan(read, read.schedules.front(), hardware.gpus);
  const execution::Job job = evaluation::make_job(read, hardware, plan);
  analysis::SummarySink sink;
  execution::run(job, execution::EngineKind::simgrid,
                 {.samples_per_microbatch = evaluation::samples_per_microbatch(read),
                  .tokens_per_microbatch = evaluation::tokens_per_microbatch(read)},
                 sink);
  const analysis::Summary& summary = sink.summary();
  const analysis::IterationWork work = evaluation::work_of(read, plan.schedule, plan.costs);
  const double time = summary.makespan_s / 2;
  CHECK(work.gpus == 16);
  CHECK(work.samples == 32);
  CHECK(work.samples / time == Approx(summary.samples_per_s.value()));
  CHECK(work.tokens / time == Approx(summary.tokens_per_s.value()));
  CHECK(analysis::throughput(work, time) == Approx(summary.tokens_per_s.value()));
  CHECK(analysis::mfu(work, time) == Approx(summary.mfu.value()));
}

TEST_CASE("rows do not depend on what was assessed before or beside them", "[evaluator]") {
  const Thin thin;
  tests::Random random(11);
  std::vector<config::Value> scenarios;
  for (int i = 0; i < 6; ++i)
    scenarios.push_back(thin.scenario(all_schedules(), random_layout(random)));
  evaluation::Evaluator evaluator(config::read_scenario(scenarios.front()), 0);
  std::vector<std::vector<std::string>> first;
  for (const config::Value& scenario : scenarios) {
    first.emplace_back();
    for (const CandidateRow& row : evaluator.assess(scenario)) first.back().push_back(text_of(row));
  }
  for (std::size_t at = scenarios.size(); at-- > 0;)
    for (std::size_t i = first[at].size(); i-- > 0;) {
      const auto alone = evaluator.assess(with_schedule(scenarios[at], i));
      REQUIRE(alone.size() == 1);
      CHECK(text_of(alone.front()) == first[at][i]);
    }
}

TEST_CASE("what cannot be is told without the place in the sweep", "[evaluator]") {
  const Thin thin;
  const config::Value fine =
      thin.scenario("1f1b", "parallel: {tp: 2, pp: 4, dp: 2}, global_batch: 32");
  evaluation::Evaluator evaluator(config::read_scenario(fine), 0);
  const auto note = [&](const std::string& schedules, const std::string& more) {
    const auto rows = evaluator.assess(thin.scenario(schedules, more));
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

TEST_CASE("what does not fit names the fullest device and what it holds", "[evaluator]") {
  const Thin thin;
  const config::Value scenario =
      thin.scenario("[1f1b, gpipe]",
                    "parallel: {tp: 4, pp: 4}, microbatches: 16, training: "
                    "{sequence: 4096}");
  evaluation::Evaluator roomy(config::read_scenario(scenario), 0);
  const auto rows = roomy.assess(scenario);
  CHECK(rows[0].outcome == Outcome::open);
  CHECK(rows[0].capacity_bytes > rows[0].peak_bytes);
  CHECK(rows[1].peak_bytes > rows[0].peak_bytes);
}

TEST_CASE("a limit stands for what the cluster's GPUs have", "[evaluator]") {
  const Thin thin;
  const config::Value scenario =
      thin.scenario("1f1b", "parallel: {tp: 4, pp: 4}, microbatches: 16");
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

TEST_CASE("slow links of one candidate are gone with the next", "[evaluator]") {
  const Thin thin;
  const std::string layout = "parallel: {tp: 4, pp: 4}, microbatches: 16";
  const config::Value plain = thin.scenario("1f1b", layout);
  evaluation::Evaluator evaluator(config::read_scenario(plain), 0);
  const CandidateRow before = evaluator.assess(plain).front();
  const auto cluster_links = [&](const char* link, const char* factor) {
    return thin.scenario(
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

TEST_CASE("a faster network of one candidate is gone with the next", "[evaluator]") {
  const Thin thin;
  const std::string layout = "parallel: {tp: 4, pp: 4}, microbatches: 16";
  const config::Value plain = thin.scenario("1f1b", layout);
  evaluation::Evaluator evaluator(config::read_scenario(plain), 0);
  const double before = evaluator.assess(plain).front().bound_s;
  const auto bound_with = [&](const char* variation) {
    const auto row =
        evaluator.assess(thin.scenario("1f1b", fmt::format("{}, variation: {}", layout, variation)))
            .front();
    INFO(row.note);
    return row.bound_s;
  };
  CHECK(bound_with("{bandwidth: 0.1}") > before * 1.001);
  CHECK(bound_with("{bandwidth: 4, latency: 0.1}") < before);
  CHECK(bound_with("{bandwidth: {all: 0.5}}") == Approx(bound_with("{bandwidth: 0.5}")));
  CHECK(evaluator.assess(plain).front().bound_s == Approx(before).epsilon(1e-12));
  CHECK_THAT(evaluator.assess(thin.scenario("1f1b", layout + ", variation: {bandwidth: {x: 2}}"))
                 .front()
                 .note,
             Contains("no links of class 'x'; allowed: "));
}

TEST_CASE("the less a bound rests on, the lower it is, and so the memory", "[evaluator]") {
  using analysis::Basis;
  const Thin thin;
  tests::Random random(11);
  const config::Value first = thin.scenario("1f1b", "parallel: {pp: 4}, microbatches: 4");
  evaluation::Evaluator evaluator(config::read_scenario(first), 0);
  int open = 0;
  for (int round = 0; round < 40; ++round) {
    const std::string more =
        random_layout(random) + fmt::format(", iterations: {}", random.whole(1, 2));
    const config::Value scenario = thin.scenario(all_schedules(), more);
    const std::vector<CandidateRow> known = evaluator.assess(scenario);
    std::vector<CandidateRow> before = evaluator.assess(scenario, Basis::passes);
    for (const Basis basis : {Basis::network, Basis::order}) {
      const std::vector<CandidateRow> rows = evaluator.assess(scenario, basis);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(config::to_yaml(with_schedule(scenario, i)), rows[i].note, before[i].note,
                static_cast<int>(basis));
        CHECK(rows[i].basis <= basis);
        if (before[i].outcome == Outcome::does_not_fit) {
          CHECK(known[i].outcome != Outcome::open);
          if (known[i].outcome == Outcome::does_not_fit)
            CHECK(before[i].peak_bytes <= known[i].peak_bytes);
        }
        if (rows[i].outcome != Outcome::open) continue;
        ++open;
        CHECK(before[i].outcome == Outcome::open);
        CHECK(before[i].bound_s > 0);
        CHECK(before[i].bound_s <= rows[i].bound_s * (1 + 1e-12));
        CHECK(before[i].peak_bytes <= rows[i].peak_bytes);
        CHECK(before[i].work.tokens == rows[i].work.tokens);
        CHECK(before[i].work.model_flop == rows[i].work.model_flop);
      }
      before = rows;
    }
  }
  CHECK(open > 400);
}
