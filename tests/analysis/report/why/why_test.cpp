#include "analysis/report/why/why.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/trace/error.hpp"
#include "tests/analysis/report/why/timed_runs.hpp"

using namespace pipewright;

TEST_CASE("the verdict names the stage that stands out", "[why]") {
  const analysis::WhyReport slow = analysis::why(tests::one_f_one_b({1, 1, 2, 1}, 16));
  CHECK(slow.verdict ==
        "100.0 % of the critical path is compute; passes of stage 2 are 91.3 % of it; device 0 has "
        "the largest bubble, 53.4 %");
  const analysis::WhyReport equal = analysis::why(tests::one_f_one_b({1, 1, 1, 1}, 8));
  CHECK(equal.verdict ==
        "100.0 % of the critical path is compute; device 0 has the largest bubble, 27.3 %");
}

TEST_CASE("the report's tables carry units", "[why]") {
  const std::string text =
      analysis::why_text(analysis::why(tests::one_f_one_b({1, 1, 2, 1}, 16, 0.25)));
  for (const char* part : {"1f1b: ", "compute, backward (B)", "transfers", "bubble:", "imbalance",
                           "passes of stage 2", "10 % slower", " s", " %"})
    CHECK_THAT(text, Catch::Contains(part));
}

TEST_CASE("a trace without arrival times of inputs has no path and no slack", "[why]") {
  trace::Trace trace = tests::one_f_one_b({1, 1, 2, 1}, 16, 0.25);
  for (trace::PassRow& row : trace.passes) row.sent = row.ready = 0;
  trace.transfers.clear();
  const analysis::WhyReport report = analysis::why(trace);
  CHECK_THAT(report.verdict, Catch::StartsWith("critical path and slack are unknown"));
  CHECK_THAT(report.verdict, !Catch::Contains("passes of stage"));
  CHECK(report.slack.stages.empty());
  CHECK(report.slack.links.empty());
  REQUIRE(report.path.parts.size() == 1);
  CHECK(report.path.parts[0].part == analysis::CriticalPart::other);
  CHECK(report.path.parts[0].seconds == report.makespan_s);
  const std::string text = analysis::why_text(report);
  CHECK_THAT(text, Catch::Contains("warm-up") && !Catch::Contains("10 % slower"));
  CHECK(nlohmann::json::parse(analysis::why_json_text(report))["knows_inputs"] == false);
}

TEST_CASE("a single device needs no arrival times", "[why]") {
  trace::Trace trace = tests::one_f_one_b({1}, 2);
  for (trace::PassRow& row : trace.passes) row.sent = row.ready = 0;
  CHECK(analysis::why(trace).has_inputs);
}

TEST_CASE("columns of slack are shown if there is any", "[why]") {
  using Catch::Contains;
  analysis::WhyReport report = analysis::why(tests::one_f_one_b({1, 1, 1, 1}, 8));
  CHECK_THAT(analysis::why_text(report), Contains("no slack:") && !Contains("of one"));
  report.slack.stages[1].slack = 0.2;
  report.slack.stages[1].seconds = 0.3;
  CHECK_THAT(analysis::why_text(report),
             !Contains("no slack:") && Contains("of one") && Contains("20.0 %"));
}

TEST_CASE("the report names the number of chunks", "[why]") {
  analysis::WhyReport report = analysis::why(tests::one_f_one_b({1, 1}, 2));
  CHECK_THAT(analysis::why_text(report), Catch::StartsWith("1f1b: "));
  report.chunks = 4;
  CHECK_THAT(analysis::why_text(report), Catch::StartsWith("1f1b x4: "));
}

TEST_CASE("a rounding error is no gain, and changes that do not fit are marked", "[why]") {
  analysis::WhyReport report = analysis::why(tests::one_f_one_b({1, 1}, 2));
  report.what_if = analysis::WhatIf{.rerun_s = 20, .rows = {{"same", 20 + 1.7e-7}, {"big", 10}}};
  report.what_if->rows[1].overflow = {
      .device = 1, .peak_bytes = 3U << 30U, .capacity_bytes = 1U << 30U};
  CHECK(analysis::gain_s(*report.what_if, report.what_if->rows[0]) == 0);
  CHECK(analysis::gain_s(*report.what_if, report.what_if->rows[1]) == 10);
  const std::string text = analysis::why_text(report);
  CHECK_THAT(text,
             !Catch::Contains(" ns") && Catch::Contains("big !") &&
                 Catch::Contains(
                     "! big does not fit: device 1 peaks at 3.0 GiB, its capacity is 1.0 GiB"));
  const auto rows = nlohmann::json::parse(analysis::why_json_text(report))["what_if"]["rows"];
  CHECK(rows[0]["gain_s"] == 0);
  CHECK(!rows[0].contains("does_not_fit"));
  CHECK(rows[1]["does_not_fit"]["memory_capacity_bytes"] == 1U << 30U);
}

TEST_CASE("changes have the keys that make them, quoted for a shell in the table", "[why]") {
  analysis::WhyReport report = analysis::why(tests::one_f_one_b({1, 1}, 2));
  report.what_if = analysis::WhatIf{.rerun_s = 20,
                                    .rows = {{"kernel", 10, "", {}, {}, {"stack.attention=[fa2]"}},
                                             {"chunks", 20, "", {}, {}, {"schedule=x", "y.z=2"}},
                                             {"stage", 20}}};
  const std::string text = analysis::why_text(report);
  CHECK_THAT(text, Catch::Contains("  --set\n") && Catch::Contains("  stack.attention='[fa2]'\n") &&
                       Catch::Contains("  schedule=x y.z=2\n"));
  const auto rows = nlohmann::json::parse(analysis::why_json_text(report))["what_if"]["rows"];
  CHECK(rows[0]["set"] == nlohmann::json{"stack.attention=[fa2]"});
  CHECK(rows[1]["set"] == nlohmann::json{"schedule=x", "y.z=2"});
  CHECK(rows[2]["set"] == nlohmann::json::array());
  for (analysis::WhatIfRow& row : report.what_if->rows) row.set = {};
  CHECK_THAT(analysis::why_text(report), !Catch::Contains("--set"));
}

TEST_CASE("a run that does not fit says so once, and marks the changes that fit", "[why]") {
  trace::Trace trace = tests::one_f_one_b({1, 1}, 2);
  trace.devices[1].memory_capacity = 1U << 30U;
  trace.memory = {{1, trace::MemoryCategory::weights, 0, 2U << 30U}};
  analysis::WhyReport report = analysis::why(trace);
  REQUIRE(report.overflow);
  report.what_if =
      analysis::WhatIf{.rerun_s = 20, .rows = {{"small", 10}, {"slow", 20}, {"large", 21}}};
  for (const std::size_t row : {1U, 2U})
    report.what_if->rows[row].overflow = {
        .device = 1, .peak_bytes = 3U << 30U, .capacity_bytes = 1U << 30U};
  const std::string text = analysis::why_text(report);
  CHECK_THAT(text, Catch::Contains(
                       "\n! does not fit: device 1 peaks at 2.0 GiB, its capacity is 1.0 GiB\n"));
  CHECK(text.find("does not fit") == text.rfind("does not fit"));
  CHECK_THAT(text, Catch::Contains("\nsmall (fits) ") && Catch::Contains("\nslow  "));
}

TEST_CASE("the report as JSON has the same numbers", "[why]") {
  analysis::WhyReport report = analysis::why(tests::one_f_one_b({1, 1, 2, 1}, 16));
  report.what_if = analysis::WhatIf{
      .rerun_s = report.makespan_s,
      .notes = {"a note"},
      .rows = {{"more", report.makespan_s / 2, ""}, {"never", std::nullopt, "it cannot"}}};
  const auto json = nlohmann::json::parse(analysis::why_json_text(report));
  CHECK(json["makespan_s"] == report.makespan_s);
  CHECK(json["verdict"] == report.verdict);
  double sum = 0;
  for (const auto& part : json["critical_path"]["parts"]) sum += part["seconds"].get<double>();
  CHECK(sum == Approx(report.makespan_s));
  CHECK(json["devices"].size() == 4);
  CHECK(json["devices"][0]["imbalance_s"] == report.devices[0].imbalance_s);
  CHECK(json["slack"]["stages"][2]["slack"] == 0);
  CHECK(json["slack"]["links"][0]["slack"].is_null());  // transfers that take no time
  CHECK(json["what_if"]["rows"][0]["gain"] == Approx(0.5));
  CHECK(json["what_if"]["rows"][1]["why_not"] == "it cannot");
}

TEST_CASE("control characters in names are escaped in the report", "[why]") {
  trace::Trace trace = tests::one_f_one_b({1, 1}, 2, 0.25);
  trace.run.schedule = "evil\x1b[31m\n";
  trace.links = {{.link = 0, .name = "x", .link_class = "class\x1b]0;title\x07", .bandwidth = 1}};
  for (const std::uint32_t device : {0U, 1U})
    for (const auto traffic : {trace::TrafficClass::activation, trace::TrafficClass::gradient})
      trace.paths.push_back(
          {.traffic = traffic, .source = device, .destination = 1 - device, .link = 0});
  analysis::WhyReport report = analysis::why(trace);
  report.what_if = analysis::WhatIf{
      .rerun_s = 1, .notes = {"note\x1b"}, .rows = {{"row\x1b", 1.0, ""}, {"no\x1b", {}, "\x1b"}}};
  const std::string text = analysis::why_text(report);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  CHECK_THAT(text, Catch::Contains("class\\x1b"));
  CHECK(analysis::why_json_text(report).find('\x1b') == std::string::npos);
}

TEST_CASE("a trace without passes, or with passes of no duration, is refused", "[why]") {
  trace::Trace trace;
  CHECK_THROWS_AS(analysis::why(trace, "empty.h5"), trace::TraceError);
  CHECK_THROWS_WITH(analysis::why(trace, "empty.h5"), Catch::StartsWith("empty.h5: has no passes"));
  trace.devices.resize(1);
  trace.passes.resize(1);
  CHECK_THROWS_AS(analysis::why(trace), trace::TraceError);
}
