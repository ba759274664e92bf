#include "analysis/measured/compare/against_measured.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/measured/compare/log_comparison.hpp"
#include "analysis/measured/measured_run.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using namespace pipewright::analysis;

TEST_CASE("pass times have mean, median and spread", "[compare]") {
  std::vector<TimedPass> passes;
  for (const double length : {3.0, 1.0, 2.0, 10.0})
    passes.push_back({{0, 0, 0, trace::PassKind::forward}, 0, 5, 5 + length});
  passes.push_back({{0, 0, 1, trace::PassKind::forward}, 0, 0, 7});
  const std::vector<PassTime> times = pass_times(passes);
  REQUIRE(times.size() == 2);
  CHECK(times[0].passes == 4);
  CHECK(times[0].mean == 4);
  CHECK(times[0].median == 2.5);
  CHECK(times[0].deviation == Approx(std::sqrt((1 + 9 + 4 + 36) / 3.0)));
  CHECK(times[0].least == 1);
  CHECK(times[0].most == 10);
  CHECK(times[1].deviation == 0);
  CHECK(times[1].median == 7);
}

TEST_CASE("a prediction compared with itself has no error", "[compare]") {
  const trace::Trace original = test::two_device_run();
  const test::ScratchFolder folder;
  const MeasuredRun measured = import_chrome(test::write_chrome(original, folder.path()));
  const AgainstMeasured result =
      compare_measured(figures_of(original, "p"), figures_of(measured.trace, "m"));
  CHECK(result.predicted.pass_span_s == 10);
  CHECK(result.measured.pass_span_s == Approx(10));
  CHECK(result.predicted.bubble_ratio == Approx(summarize(original).bubble_ratio));
  CHECK(result.measured.bubble_ratio == Approx(result.predicted.bubble_ratio));
  CHECK(result.measured.span_bubble_s == Approx(4));
  CHECK(result.predicted.iteration_s == 10.0);
  CHECK_FALSE(result.measured.iteration_s.has_value());  // of a single one
  REQUIRE(result.passes.size() == 4);
  for (const PassTimeError& row : result.passes)
    CHECK(row.error().value() == Approx(0).margin(1e-6));
}

TEST_CASE("measured iterations are averaged, and errors are relative to the measurement",
          "[compare]") {
  const MeasuredRun measured = import_chrome(
      {test::measured_sample("kineto-rank0.json"), test::measured_sample("kineto-rank1.json")});
  trace::Trace predicted = test::two_device_run();  // F = 1 s there, 1 ms here
  for (trace::PassRow& pass : predicted.passes)
    for (double* const time : {&pass.sent, &pass.ready, &pass.start, &pass.end, &pass.released})
      *time *= 1.1e-3;
  const AgainstMeasured result =
      compare_measured(figures_of(predicted, "p"), figures_of(measured.trace, "m"));
  CHECK(result.measured.iterations == 2);
  CHECK(result.measured.pass_span_s == Approx(9.2e-3));
  CHECK(result.measured.iteration_s.value() == Approx(10e-3));
  CHECK(result.measured.bubble_ratio == Approx(1 - 12 / (2 * 9.2)));
  for (const PassTimeError& row : result.passes) {
    CHECK(row.measured->passes == 4);
    CHECK(row.error().value() == Approx(0.1));
  }

  MeasuredComparison comparison{
      "p.h5", "m\x1b.json", predicted.run, measured.trace.run, result, {"a note"}, {}};
  const std::string text = console_text(comparison);
  INFO(text);
  CHECK_THAT(text, Catch::Contains("+10.0 %") && Catch::Contains("note: a note") &&
                       Catch::Contains("9.200 ms") && Catch::Contains("1.100 ms"));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('~') == std::string::npos);
  comparison.predicted_run.evidence = {"l40s", {"flops"}};
  CHECK_THAT(console_text(comparison),
             Catch::Contains("\nvalues of l40s that are assumed, not sourced: flops\n"));
  const auto json = nlohmann::json::parse(json_text(comparison));
  CHECK(json["predicted"]["assumed"] == nlohmann::json{"flops"});
  CHECK(json["measured"]["assumed"].empty());
  CHECK(json["passes"].size() == 4);
  CHECK(json["passes"][0]["error"] == Approx(0.1));
  CHECK(json["errors"]["pass_span_s"]["change"] == Approx(11 / 9.2 - 1));
  CHECK(json["measured"]["metrics"]["iteration_s"] == Approx(0.01));
}

TEST_CASE("a pass that only one run has gives no error", "[compare]") {
  trace::Trace split = test::two_device_run();
  for (trace::PassRow& pass : split.passes)
    if (pass.kind == trace::PassKind::backward) pass.kind = trace::PassKind::input_grad;
  const AgainstMeasured result =
      compare_measured(figures_of(test::two_device_run(), "p"), figures_of(split, "m"));
  REQUIRE(result.passes.size() == 6);
  CHECK(result.passes[0].error().has_value());
  CHECK_FALSE(result.passes[1].predicted.has_value());  // I comes before B
  CHECK_FALSE(result.passes[1].error().has_value());
}

TEST_CASE("Megatron's timers are compared with predicted times", "[compare]") {
  trace::Trace predicted = test::two_device_run();
  for (trace::PassRow& pass : predicted.passes)
    for (double* const time : {&pass.sent, &pass.ready, &pass.start, &pass.end, &pass.released})
      *time *= 4e-3;
  const RunFigures run = figures_of(predicted, "p");
  LogComparison comparison =
      compare_log(run, read_training_log(test::measured_sample("megatron.log")), {.skip = 1});
  CHECK(comparison.iterations == 2);
  CHECK(comparison.deviation_s == Approx(std::sqrt(2.0) * 1e-3));
  const auto timer = [&](const std::string& name) {
    return *std::find_if(comparison.timers.begin(), comparison.timers.end(),
                         [&](const TimerComparison& row) { return row.name == name; });
  };
  CHECK(timer("iteration").measured->most == Approx(38e-3));
  CHECK(timer("iteration").predicted->most == Approx(40e-3));
  CHECK(timer("iteration").error.value() == Approx(40.0 / 38 - 1));
  CHECK(timer("forward-compute").predicted->most == Approx(8e-3));
  CHECK(timer("forward-compute").measured->least == Approx(8e-3));
  CHECK(timer("backward-compute").error.value() == Approx(16 / 16.4 - 1));
  CHECK(timer("forward-backward").predicted->most == Approx(40e-3));
  CHECK_FALSE(timer("optimizer").predicted.has_value());
  CHECK(comparison.devices.at(0).empty());
  CHECK_THAT(console_text(comparison),
             Catch::Contains("38.00 ms") && Catch::Contains("+5.3 %") && !Catch::Contains("~"));
  comparison.evidence = {"l40s", {"flops"}};
  CHECK_THAT(console_text(comparison),
             Catch::Contains("\nvalues of l40s that are assumed, not sourced: flops\n"));
  CHECK_THROWS_AS(
      compare_log(run, read_training_log(test::measured_sample("megatron.log")), {.skip = 3}),
      trace::TraceError);
}

TEST_CASE("ranks of a log map to devices with the pipeline outermost", "[compare]") {
  const LogComparison comparison =
      compare_log(figures_of(test::two_device_run(), "p"),
                  read_training_log(test::measured_sample("megatron-all.log")), {});
  REQUIRE(comparison.devices.size() == 2);
  REQUIRE(comparison.devices[1].size() == 2);
  const TimerComparison& backward = comparison.devices[1][0];
  CHECK(backward.name == "backward-compute");
  CHECK(backward.measured->most == Approx((17.0 + 17.1 + 17.5 + 17.6) / 4 * 1e-3));
  CHECK(backward.predicted->most == 4);
  const auto json = nlohmann::json::parse(json_text(comparison));
  CHECK(json["devices"].size() == 4);
}
