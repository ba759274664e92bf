#include "analysis/measured/compare/condition.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using namespace pipewright::analysis;

namespace {

const Metrics metrics{{"makespan_s", "time", MetricKind::seconds, 10},
                      {"bubble_ratio", "bubble", MetricKind::ratio, 0.2},
                      {"peak_memory_bytes", "memory", MetricKind::bytes, 0x1p34},
                      {"samples_per_s", "samples", MetricKind::samples_per_s, 30},
                      {"peak_in_flight", "in flight", MetricKind::count, 4}};

bool asked(const std::string& text, double base, double value) {
  return holds(read_condition(text, metrics), base, value);
}

std::string why(const std::string& text) {
  try {
    read_condition(text, metrics);
    return "";
  } catch (const ConditionError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a change is relative to the first run's value", "[compare]") {
  CHECK(asked("makespan>+1%", 10, 10.2));
  CHECK_FALSE(asked("makespan>+1%", 10, 10.05));
  CHECK_FALSE(asked("makespan>+1%", 10, 9));
  CHECK(asked("makespan_s < -2%", 10, 9.7));
  CHECK_FALSE(asked("makespan<-2%", 10, 9.9));
  CHECK(asked("makespan>=+0%", 10, 10));
  CHECK_FALSE(asked("makespan>+0%", 10, 10));
  CHECK(asked("makespan<=+0%", 10, 10));
  CHECK(asked("makespan>+1000000%", 0, 1e-9));  // from nothing
  CHECK_FALSE(asked("makespan>+1%", 0, 0));
}

TEST_CASE("conditions accept labels of tables and suggest close names", "[compare]") {
  CHECK(read_condition("time>+1%", metrics).metric == "makespan_s");
  CHECK(read_condition("bubble > 20%", metrics).metric == "bubble_ratio");
  const Metrics parts{{"p2p_s", "  point to point", MetricKind::seconds, 1},
                      {"samples_per_s", "throughput", MetricKind::samples_per_s, {}},
                      {"tokens_per_s", "throughput", MetricKind::tokens_per_s, 5}};
  CHECK(find_metric(parts, "point to point")->name == "p2p_s");
  CHECK(find_metric(parts, "throughput")->name == "tokens_per_s");  // which is known
  CHECK(find_metric(parts, "") == nullptr);
  CHECK_THAT(why("makespam>+1%"), Catch::Contains("did you mean 'makespan'?"));
  CHECK_THAT(why("tme>+1%"), Catch::Contains("did you mean 'time'?"));
  CHECK(why("zzzzzz>+1%").find("did you mean") == std::string::npos);
  const Metrics measured{{"iteration_s", "iteration", MetricKind::seconds, 1},
                         {"pass_span_s", "pass span", MetricKind::seconds, 1}};
  CHECK(nearest_name(measured, "makespan") == "iteration_s");
  CHECK(nearest_name(measured, "time") == "iteration_s");
}

TEST_CASE("rounding errors are no difference, and small differences are not 0", "[compare]") {
  CHECK(format_difference(MetricKind::seconds, 19.31, 19.31 + 1e-12) == "0 s");
  CHECK(format_change(19.31, 19.31 - 1e-12) == "0 %");
  CHECK(format_difference(MetricKind::seconds, 1e-9, 2e-9) == "+1.00 ns");
  CHECK(format_difference(MetricKind::bytes, 1, 1) == "0 B");
  CHECK(format_difference(MetricKind::ratio, 0.413, 0.413) == "0 pp");
  CHECK(format_difference(MetricKind::ratio, 0.413, 0.4125) == "-0.05 pp");
  CHECK(format_difference(MetricKind::ratio, 0.4, 0.421) == "+2.1 pp");
  CHECK(format_change(1, 1.00012) == "+0.012 %");
  CHECK(format_change(0, 1) == "-");
  CHECK_FALSE(asked("makespan>+0%", 19.31, 19.31 + 1e-12));
  CHECK(asked("makespan>+0%", 19.31, 19.31 + 1e-7));
}

TEST_CASE("a difference and a value take the metric's units", "[compare]") {
  CHECK(asked("makespan>+10ms", 10, 10.011));
  CHECK_FALSE(asked("makespan>+10ms", 10, 10.009));
  CHECK(asked("makespan > 20 s", 1, 20.5));
  CHECK_FALSE(asked("makespan > 20 s", 1, 19.5));
  CHECK(asked("makespan>20", 1, 21));
  CHECK(asked("peak_memory>+1GiB", 0x1p34, 0x1p34 + 0x1p30 + 1));
  CHECK_FALSE(asked("peak_memory>+1GiB", 0x1p34, 0x1p34 + 1e9));
  CHECK(asked("peak_memory_bytes<=16GiB", 0, 0x1p34));
  CHECK(asked("bubble_ratio>20%", 0.1, 0.21));
  CHECK(asked("bubble_ratio>+5pp", 0.1, 0.16));
  CHECK_FALSE(asked("bubble_ratio>+5pp", 0.1, 0.14));
  CHECK(asked("bubble_ratio>+5%", 0.1, 0.106));
  CHECK(asked("bubble_ratio>0.2", 0.1, 0.21));
  CHECK(asked("samples_per_s<-1samples/s", 30, 28));
  CHECK(asked("samples_per_s<1e1", 30, 9));
  CHECK(asked("peak_in_flight>4", 4, 5));
}

TEST_CASE("a condition with an error marks its position and lists what is allowed", "[compare]") {
  CHECK_THAT(why("makespam>+1%"), Catch::Contains("'makespam'") && Catch::Contains("makespan_s") &&
                                      Catch::EndsWith("\n  makespam>+1%\n  ^"));
  CHECK_THAT(why("makespan"),
             Catch::Contains("after a metric, allowed: >, <") && Catch::EndsWith("\n          ^"));
  CHECK_THAT(why("makespan=1"), Catch::Contains("after a metric, allowed: >, <"));
  CHECK_THAT(why("makespan>"), Catch::Contains("expected a number"));
  CHECK_THAT(why("makespan>+"), Catch::Contains("expected a number"));
  CHECK_THAT(why("makespan>abc"), Catch::Contains("expected a number"));
  CHECK_THAT(why("makespan>nan"), Catch::Contains("expected a number"));
  CHECK_THAT(why("makespan>+1x"), Catch::Contains("'x' is no unit of makespan_s") &&
                                      Catch::Contains("ms") && Catch::EndsWith("\n             ^"));
  CHECK_THAT(why("makespan>1%"), Catch::Contains("% after a sign"));
  CHECK_THAT(why("peak_memory>+1ms"), Catch::Contains("GiB"));
  CHECK_THAT(why(">+1%"), Catch::Contains("unknown metric ''"));
  CHECK_THAT(why(""), Catch::Contains("unknown metric ''"));
  CHECK(why("\x1b[31m>1").find('\x1b') == std::string::npos);
}
