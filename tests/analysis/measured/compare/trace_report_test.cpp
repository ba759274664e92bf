#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/measured/compare/trace_comparison.hpp"
#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using namespace pipewright::analysis;

TEST_CASE("metrics are those of the summary, and of the traffic", "[compare]") {
  trace::Trace trace = test::two_device_run();
  trace.links = {{0, "up", "nic", 3, 1e9}, {1, "nv", "nvlink", 1, 1e9}};
  trace.link_use = {{0, trace::TrafficClass::activation, 0, 1, 500, 1, 0},
                    {0, trace::TrafficClass::gradient, 0, 1, 100, 1, 0},
                    {1, trace::TrafficClass::gradient, 0, 1, 7, 1, 0}};
  trace.transfers = {{0, 1, 0, 0, trace::TransferKind::gradient, 1000, 1, 1, 1.5}};
  const Metrics metrics = metrics_of(figures_of(trace, "a"));
  const auto value = [&](const char* name) { return find_metric(metrics, name)->value; };
  CHECK(value("makespan_s") == 10);
  CHECK(value("bubble_ratio") == Approx(0.4).epsilon(1e-12));
  CHECK(value("span_bubble") == 4);
  CHECK(value("exposed_communication") == 1);
  CHECK(value("peak_memory_bytes") == 7 * 0x1p30);
  CHECK(value("samples_per_s").value() == Approx(0.6));
  CHECK_FALSE(value("mfu").has_value());
  CHECK(value("gradient_bytes") == 1000);
  CHECK(value("activation_bytes") == 0);
  CHECK(value("link_bytes.nic") == 1800);
  CHECK(value("link_bytes.nvlink") == 7);
}

TEST_CASE("conditions are judged for every run", "[compare]") {
  const NamedMetrics base{
      "a.h5",
      {{"makespan_s", "time", MetricKind::seconds, 10}, {"mfu", "MFU", MetricKind::ratio, {}}}};
  const std::vector<NamedMetrics> others{
      {"b.h5", {{"makespan_s", "time", MetricKind::seconds, 11}}},
      {"c.h5", {{"makespan_s", "time", MetricKind::seconds, 9}}}};
  const std::vector<Condition> conditions{read_condition("makespan>+5%", base.metrics)};
  const auto judgements = judge(conditions, base, others);
  REQUIRE(judgements.size() == 2);
  CHECK(judgements[0].holds);
  CHECK_FALSE(judgements[1].holds);
  CHECK(any_holds(judgements));
  CHECK(describe(judgements) ==
        "makespan>+5% holds: b.h5 has 11.00 s, a.h5 10.00 s (+10.0 %)\n"
        "makespan>+5% does not hold: c.h5 has 9.000 s, a.h5 10.00 s (-10.0 %)\n");
  // A condition on an unknown metric is an error.
  const std::vector<Condition> unknown{read_condition("mfu<40%", base.metrics)};
  CHECK_THROWS_WITH(judge(unknown, base, others), Catch::Contains("mfu is unknown for b.h5"));
}

TEST_CASE("a condition on a measured run refers to the error in the tables", "[compare]") {
  const NamedMetrics predicted{"p.h5", {{"pass_span_s", "pass span", MetricKind::seconds, 9e-3}}};
  const NamedMetrics measured{"m.json",
                              {{"pass_span_s", "pass span", MetricKind::seconds, 9.2e-3}}};
  std::vector<Condition> conditions;
  for (const char* const text :
       {"pass span<-2%", "pass_span>+2%", "pass_span<-1ms", "pass_span>9.1ms"})
    conditions.push_back(read_condition(text, measured.metrics));
  CHECK(describe(judge_error(conditions, predicted, measured)) ==
        "pass span<-2% holds: predicted 9.000 ms is 2.2 % below measured 9.200 ms\n"
        "pass_span>+2% does not hold: predicted 9.000 ms is 2.2 % below measured 9.200 ms\n"
        "pass_span<-1ms does not hold: predicted 9.000 ms is 200 us below measured 9.200 ms\n"
        "pass_span>9.1ms holds: measured 9.200 ms\n");
  CHECK_THAT(describe(judge_error(conditions, measured, measured)),
             Catch::Contains("is the same as measured"));
}

TEST_CASE("runs of different work get notes and a row for the iteration", "[compare]") {
  const RunFigures once = figures_of(test::two_device_run(), "a.h5");
  trace::Trace trace = test::two_device_run();
  trace.run.iterations = 2;
  trace.run.microbatches = 1;
  trace.run.replicas = 4;
  const RunFigures twice = figures_of(trace, "b.h5");
  CHECK(unlike_notes(once, once).empty());
  CHECK(unlike_notes(once, twice) ==
        std::vector<std::string>{"b.h5 has 2 iterations, a.h5 1; compare the row iteration",
                                 "b.h5 has 1 microbatch, a.h5 2 an iteration",
                                 "b.h5 has 4 replicas, a.h5 1"});
  TraceComparison comparison{{once, twice}, {}, {}};
  comparison.moves = {compare_passes(comparison.runs[0], comparison.runs[1])};
  CHECK_THAT(console_text(comparison), Catch::Contains("\nnote: b.h5 has 2 iterations") &&
                                           Catch::Contains("\niteration") &&
                                           Catch::Contains("-50.0 %"));
  CHECK(nlohmann::json::parse(json_text(comparison))["others"][0]["notes"].size() == 3);
  comparison.runs[1] = once;
  CHECK(console_text(comparison).find("iteration ") == std::string::npos);

  const auto with_model = [](double flops, double tokens) {
    trace::Trace trace_of_model = test::two_device_run();
    trace_of_model.run.model_flops = flops;
    trace_of_model.run.tokens_per_microbatch = tokens;
    return figures_of(trace_of_model, "m.h5");
  };
  CHECK_THAT(unlike_notes(once, with_model(0, 6000)).at(0), Catch::Contains("sequence lengths"));
  CHECK(unlike_notes(with_model(6e12, 3000), once).empty());  // unknown
  CHECK_THAT(unlike_notes(with_model(6e12, 1000), with_model(7e12, 1000)).at(0),
             Catch::Contains("different models"));
}

TEST_CASE("differences between jobs are noted", "[compare]") {
  RunFigures bf16 = figures_of(test::two_device_run(), "a.h5");
  RunFigures fp8 = figures_of(test::two_device_run(), "b.h5");
  CHECK(unlike_notes(bf16, fp8).empty());  // of runs without a model
  bf16.summary.run.job = "llama-3-8b on h100-sxm, tp 2, bf16";
  CHECK(unlike_notes(bf16, fp8).empty());
  fp8.summary.run.job = "llama-3-8b on h100-sxm, tp 2, fp8, recompute full";
  CHECK(unlike_notes(bf16, fp8) ==
        std::vector<std::string>{"the jobs differ: a.h5 has bf16; b.h5 has fp8, recompute full"});
  fp8.summary.run.job = "llama-3-8b on h100-sxm, tp 2, bf16, recompute full";
  CHECK(unlike_notes(bf16, fp8) ==
        std::vector<std::string>{"the jobs differ: b.h5 has recompute full"});
}

TEST_CASE("settings that differ are listed with both values", "[compare]") {
  TraceComparison comparison;
  comparison.runs = {figures_of(test::two_device_run(), "a.h5"),
                     figures_of(test::two_device_run(), "b.h5")};
  RunFigures& second = comparison.runs[1];
  comparison.moves = {compare_passes(comparison.runs[0], second)};
  const auto listed = [&] {
    return nlohmann::json::parse(json_text(comparison))["others"][0]["settings"];
  };
  CHECK(listed().empty());
  CHECK_THAT(console_text(comparison), !Catch::Contains("setting"));
  second.settings = {{"stack.host.kernel", "125 us", "50 us\x1b"}, {"stack.rules", {}, "[]"}};
  const auto changes = listed();
  REQUIRE(changes.size() == 2);
  CHECK(changes[0]["key"] == "stack.host.kernel");
  CHECK(changes[0]["baseline"] == "125 us");
  CHECK(changes[0]["value"] == "50 us\x1b");
  CHECK(changes[1]["key"] == "stack.rules");
  CHECK(changes[1]["baseline"].is_null());
  CHECK(changes[1]["value"] == "[]");
  const std::string text = console_text(comparison);
  INFO(text);
  CHECK_THAT(text, Catch::Contains("\nsetting ") && Catch::Contains("\nstack.host.kernel ") &&
                       Catch::Contains("125 us") && Catch::Contains("50 us"));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("long lists of settings are shortened in text, and complete in JSON", "[compare]") {
  TraceComparison comparison;
  comparison.runs = {figures_of(test::two_device_run(), "a.h5"),
                     figures_of(test::two_device_run(), "b.h5")};
  comparison.moves = {compare_passes(comparison.runs[0], comparison.runs[1])};
  const std::string common = "interleaved-1f1b, interleaved-low-memory, grouped-interleaved, 1f1b";
  const auto text_of = [&](const SettingChange& change) {
    comparison.runs[1].settings = {change};
    const auto json = nlohmann::json::parse(json_text(comparison))["others"][0]["settings"][0];
    CHECK(json["value"] == *change.is);
    return console_text(comparison);
  };
  CHECK_THAT(text_of({"stack.schedules", "gpipe, " + common, common + ", zb-h1"}),
             Catch::Contains("stack.schedules  5 items  +zb-h1 -gpipe\n"));
  std::string many;
  for (int i = 0; i < 20; ++i) many += fmt::format("{}name-{}", i == 0 ? "" : ", ", i);
  CHECK_THAT(text_of({"stack.schedules", common, many}),
             Catch::Contains("stack.schedules  4 items  20 items\n"));
  CHECK_THAT(text_of({"stack.schedules", "[]", many}),
             Catch::Contains("stack.schedules  []    20 items\n"));
  CHECK_THAT(text_of({"stack.fused", "norm, rope", "norm"}),
             Catch::Contains("stack.fused  norm, rope  norm\n"));
  // A list with another order has the same items.
  CHECK_THAT(text_of({"stack.schedules", "gpipe, " + common, common + ", gpipe"}),
             Catch::Contains("stack.schedules  5 items  5 items\n"));
  const std::string pattern(80, 'M');  // no list
  CHECK_THAT(text_of({"model.pattern", "M", pattern}), Catch::Contains(pattern));
}

TEST_CASE("listed settings replace the notes that say the same", "[compare]") {
  trace::Trace trace = test::two_device_run();
  trace.run.iterations = 2;
  trace.run.microbatches = 1;
  trace.run.replicas = 4;
  trace.run.job = "llama-3-8b on h100-sxm, tp 2, bf16";
  RunFigures first = figures_of(test::two_device_run(), "a.h5");
  first.summary.run.job = "llama-3-8b on h100-sxm, tp 4, bf16";
  RunFigures other = figures_of(trace, "b.h5");
  CHECK(unlike_notes(first, other).size() == 4);
  other.settings = {{"parallel.tp", "4", "2"}};
  CHECK(unlike_notes(first, other) ==
        std::vector<std::string>{"b.h5 has 2 iterations, a.h5 1; compare the row iteration"});
}

TEST_CASE("a note says whether links carry collectives in passes", "[compare]") {
  trace::Trace fast = test::two_device_run();
  fast.links = {{0, "up", "nic", 1, 1e9}};
  fast.link_use = {{0, trace::TrafficClass::activation, 0, 1, 500, 1, 0}};
  CHECK(link_note(std::vector{figures_of(fast, "none.h5")}).empty());
  for (trace::StageRow& stage : fast.stages) stage.waits_f = 0.25;
  trace::Trace full = fast;
  full.link_use.push_back({0, trace::TrafficClass::in_passes, 0, 1, 500, 1, 0});
  const RunFigures without = figures_of(fast, "fast.h5");
  const RunFigures with = figures_of(full, "full.h5");
  CHECK_THAT(link_note(std::vector{without, without}),
             Catch::Contains("these links do not carry collectives in passes"));
  CHECK(link_note(std::vector{with, with}).empty());
  CHECK_THAT(link_note(std::vector{with, without}),
             Catch::Contains("links of full.h5 carry collectives in passes") &&
                 Catch::Contains("those of fast.h5 do not"));
  const Metrics metrics = metrics_of(without);
  CHECK(find_metric(metrics, "activation_bytes")->label == "traffic, activations");
  CHECK(find_metric(metrics, "gradient_bytes")->label == "traffic, gradients of activations");
}

TEST_CASE("a comparison prints metrics, memory and moved passes", "[compare]") {
  trace::Trace second = test::two_device_run();
  for (double* const time :
       {&second.passes[7].start, &second.passes[7].end, &second.passes[7].released})
    *time += 1;
  second.memory[1].bytes *= 2;
  TraceComparison comparison;
  comparison.runs = {figures_of(test::two_device_run(), "a.h5"), figures_of(second, "b\x1b.h5")};
  comparison.moves = {compare_passes(comparison.runs[0], comparison.runs[1])};
  const std::string text = console_text(comparison);
  INFO(text);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(text, Catch::Contains("10.00 s") && Catch::Contains("11.00 s") &&
                       Catch::Contains("+1.000 s") && Catch::Contains("+10.0 %"));
  CHECK_THAT(text, Catch::Contains("+2.0 GiB") && Catch::Contains("+100.0 %"));
  CHECK_THAT(text, Catch::Contains("8 in both\n1 start later, 0 earlier, 7 unchanged"));
  CHECK_THAT(text, Catch::Contains("first difference: B of microbatch 1 on stage 0: starts at "
                                   "9.000 s, was 8.000 s (+1.000 s)"));
  CHECK_THAT(text, Catch::Contains("B of stage 0"));
  CHECK(text.find("F of stage 0") == std::string::npos);  // did not change
}

TEST_CASE("the assumed numbers of compared runs are listed", "[compare]") {
  trace::Trace second = test::two_device_run();
  second.run.evidence = {"l40s", {"flops"}};
  TraceComparison comparison;
  comparison.runs = {figures_of(test::two_device_run(), "a.h5"), figures_of(second, "b.h5")};
  comparison.moves = {compare_passes(comparison.runs[0], comparison.runs[1])};
  const std::string text = console_text(comparison);
  INFO(text);
  CHECK_THAT(text, !Catch::Contains("~") &&
                       Catch::Contains("values of l40s that are assumed, not sourced: flops\n"));
}

TEST_CASE("the JSON of a comparison has every figure", "[compare]") {
  trace::Trace second = test::two_device_run();
  for (double* const time :
       {&second.passes[7].start, &second.passes[7].end, &second.passes[7].released})
    *time += 1;
  TraceComparison comparison;
  comparison.runs = {figures_of(test::two_device_run(), "a\xff.h5"), figures_of(second, "b.h5")};
  comparison.moves = {compare_passes(comparison.runs[0], comparison.runs[1])};
  const auto json = nlohmann::json::parse(json_text(comparison));
  CHECK(json["baseline"]["metrics"]["makespan_s"] == 10);
  const auto& second_json = json["others"][0];
  CHECK(second_json["differences"]["makespan_s"]["difference"] == 1);
  CHECK(second_json["differences"]["makespan_s"]["change"] == Approx(0.1));
  CHECK(second_json["metrics"]["mfu"].is_null());
  CHECK(second_json["passes"]["later"] == 1);
  CHECK(second_json["passes"]["first_to_differ"]["kind"] == "B");
  CHECK(second_json["passes"]["by_stage_and_kind"].size() == 4);
  CHECK(second_json["devices"][0]["peak_memory_bytes"] == 7 * 0x1p30);
}
