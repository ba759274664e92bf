#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report_table.hpp"

namespace pipewright::analysis {

// Kind of a number, which determines its unit.
enum class MetricKind { seconds, bytes, ratio, samples_per_s, tokens_per_s, flops, count };

// A number of a run under its JSON key; metrics.md defines it.
struct Metric {
  std::string name;   // "makespan_s"
  std::string label;  // in tables: "time"
  MetricKind quantity = MetricKind::seconds;
  std::optional<double> value;  // empty: unknown
};
using Metrics = std::vector<Metric>;

// Whether a metric is the time of a run or an iteration, or is derived from it.
bool is_of_time(const Metric& metric);

std::string format_value(MetricKind quantity, double value);  // "33.00 s", "24.0 MiB", "10.9 %"
// Difference of `value` from `base`: "+1.60 ms", for ratios "+1.2 pp".
std::string format_difference(MetricKind quantity, double base, double value);
// Relative change from `base` to `value`: "+4.8 %", "0 %", "-" if it is undefined.
std::string format_change(double base, double value);
// value - base; 0 if the difference is a rounding error below 1e-9 of the larger number.
double difference(double base, double value);
// difference / |base|; 0 if both are 0, infinite if only `base` is 0.
double relative_change(double base, double value);

// Finds a metric by its key, with or without the unit ("makespan"), or by its label in tables
// ("time"). Of several metrics with the label, returns the first known one. Null if there is none.
const Metric* find_metric(const Metrics& metrics, std::string_view name);

// The name of a metric that is spelt most like an unknown name; empty if none is close.
std::string nearest_name(const Metrics& metrics, std::string_view name);

Json metrics_json(const Metrics& metrics);  // by key; unknown values are null

// {"makespan_s": {"difference": .., "change": ..}, ..} for metrics that both runs know.
Json differences_json(const Metrics& base, const Metrics& run);

}  // namespace pipewright::analysis
