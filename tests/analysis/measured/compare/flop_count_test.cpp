#include "analysis/measured/compare/flop_count.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "analysis/measured/compare/log_comparison.hpp"
#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using analysis::flop_count;
using analysis::FlopRule;
using analysis::LogIteration;

namespace {

// A prediction for 16 GPUs: a microbatch is one sample of 4096 tokens, and 64 microbatches on each
// of two replicas make an iteration. A token takes 75 GFLOP with causal attention, 80 with full
// attention, and 15 more for recomputation.
analysis::RunFigures prediction() {
  trace::Trace trace = test::two_device_run();
  trace.run.microbatches = 64;
  trace.run.replicas = 2;
  trace.run.gpus = 16;
  trace.run.samples_per_microbatch = 1;
  trace.run.tokens_per_microbatch = 4096;
  trace.run.model_flops = 75e9 * 4096;
  trace.run.full_attention_flops = 80e9 * 4096;
  trace.run.hardware_flops = 90e9 * 4096;
  return analysis::figures_of(trace, "p");
}

// A line that counts `flops` for a token: 1000 tokens/s of each GPU.
std::vector<LogIteration> counting(double flops) {
  return {{.number = 1, .tokens_per_gpu_s = 1000, .flops_per_gpu = 1000 * flops}};
}

}  // namespace

TEST_CASE("the FLOPs of a token follow from the time and the batch of a log", "[compare]") {
  // 239.6e12 x 5.4505 x 16 / (128 x 4096) = 39.9e9, half of the prediction.
  const auto count = flop_count(
      prediction(),
      {{.number = 57, .elapsed_s = 5.4505, .flops_per_gpu = 239.6e12, .batch_samples = 128}}, {});
  REQUIRE(count.has_value());
  CHECK(count->logged == Approx(239.6e12 * 5.4505 * 16 / (128 * 4096)));
  CHECK(count->predicted == Approx(80e9));
  CHECK(count->differs());
  CHECK(count->rule.empty());
  CHECK_THAT(flop_note(*count, true),
             Catch::Contains("39.9 GFLOP a token, 0.50 of the prediction's 80.0") &&
                 Catch::Contains("0.53 of its 75.0 with causal attention") &&
                 Catch::Contains("not comparable") && !Catch::Contains("this is"));

  // A log without its batch has that of the prediction, 128 samples; samples/s need neither.
  const auto assumed = flop_count(
      prediction(), {{.number = 57, .elapsed_s = 5.4505, .flops_per_gpu = 239.6e12}}, {});
  CHECK(assumed->logged == Approx(count->logged));
  CHECK_THAT(flop_note(*assumed, true), Catch::Contains("if its batch is that of the prediction"));
  const auto rate = flop_count(
      prediction(), {{.number = 57, .samples_per_s = 128 / 5.4505, .flops_per_gpu = 239.6e12}}, {});
  CHECK(rate->logged == Approx(count->logged));
}

TEST_CASE("a rule explains the FLOPs of a log within 2 %", "[compare]") {
  const std::vector<FlopRule> rules{{"one expert a token", 45e9}};
  const auto rule = [&](double flops) {
    return flop_count(prediction(), counting(flops), rules)->rule;
  };
  CHECK_THAT(rule(75e9), Catch::Contains("causal attention"));
  CHECK_THAT(rule(70e9), Catch::Contains("without attention scores"));
  CHECK_THAT(rule(95e9), Catch::StartsWith("recomputation as well"));
  CHECK_THAT(rule(90e9), Catch::Contains("recomputation as well, with causal attention"));
  CHECK_THAT(rule(80e9 * 4 / 3), Catch::Contains("second forward pass"));
  CHECK(rule(45.5e9) == "one expert a token");
  CHECK(rule(50e9).empty());
  CHECK(rule(160e9).empty());
}

TEST_CASE("predicted FLOP/s count as the log does, and have no error if that is unknown",
          "[compare]") {
  const auto rate = [](double flops) {
    analysis::TrainingLog log;
    const LogIteration line = counting(flops).front();
    log.runs.push_back({.iterations = {line, line, line}, .remarks = {}});
    const auto comparison = analysis::compare_log(prediction(), log, {});
    for (const analysis::RateComparison& row : comparison.rates)
      if (row.measured.name == "flops_per_gpu") return row;
    throw std::logic_error("the log has no FLOP/s");
  };
  const double full = *rate(80e9).predicted.value;
  CHECK(rate(80e9).is_comparable);
  CHECK(rate(82e9).predicted.value == full);  // 2.5 %: the same count
  CHECK(rate(75e9).is_comparable);
  CHECK(*rate(75e9).predicted.value == Approx(full * 75 / 80));    // causal attention
  CHECK(*rate(75.6e9).predicted.value == Approx(full * 75 / 80));  // the rule, not the log
  CHECK(*rate(95e9).predicted.value == Approx(full * 95 / 80));    // recomputation as well
  CHECK_FALSE(rate(50e9).is_comparable);
  CHECK(*rate(50e9).predicted.value == full);
}

TEST_CASE("a condition on FLOP/s that are not comparable is an error", "[compare]") {
  analysis::TrainingLog log;
  const LogIteration line = counting(50e9).front();
  log.runs.push_back({.iterations = {line, line, line}, .remarks = {}});
  const auto comparison = analysis::compare_log(prediction(), log, {});
  const auto value = [](const analysis::Metrics& metrics) {
    return analysis::find_metric(metrics, "flops_per_gpu")->value;
  };
  CHECK_FALSE(value(predicted_metrics(comparison)).has_value());
  CHECK(value(measured_metrics(comparison)) == Approx(50e12));
  CHECK_THAT(json_text(comparison), Catch::Contains("FLOP/s are not comparable"));
}

TEST_CASE("FLOPs that agree, or that a log does not give, are not noted", "[compare]") {
  CHECK_FALSE(flop_count(prediction(), counting(80e9), {})->differs());
  CHECK_FALSE(flop_count(prediction(), counting(77e9), {})->differs());
  CHECK(flop_count(prediction(), counting(84.5e9), {})->differs());
  CHECK_FALSE(flop_count(prediction(), {{.number = 1, .tokens_per_gpu_s = 5}}, {}).has_value());
  CHECK_FALSE(flop_count(prediction(), {}, {}).has_value());
  CHECK_FALSE(flop_count(analysis::figures_of(test::two_device_run(), "p"), counting(80e9), {})
                  .has_value());
}

TEST_CASE("another batch of a log is the first note, and leaves no times to compare", "[compare]") {
  const auto notes_of = [](double samples) {
    analysis::TrainingLog log;
    LogIteration line = counting(60e9).front();
    line.elapsed_s = 10;
    line.batch_samples = samples;
    log.runs.push_back({.iterations = {line, line}, .remarks = {}});
    std::string notes;
    for (const std::string& note : analysis::compare_log(prediction(), log, {}).notes)
      notes += note + "\n";
    return notes;
  };
  CHECK_THAT(notes_of(256),
             Catch::StartsWith("an iteration of the log trains 256 samples, but 128 ") &&
                 Catch::Contains("so that times are not comparable") &&
                 Catch::Contains("GFLOP a token") &&
                 !Catch::Contains("but times and tokens/s are"));
  CHECK_THAT(notes_of(128), Catch::Contains("but times and tokens/s are") &&
                                !Catch::Contains("an iteration of the log trains"));
}
