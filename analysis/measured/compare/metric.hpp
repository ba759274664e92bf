#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report_table.hpp"

namespace pipewright::analysis {

// Kind of quantity that a metric measures. It determines the unit in tables.
enum class MetricKind { seconds, bytes, ratio, samples_per_s, tokens_per_s, flops, count };

// One figure of a run, named by its key in JSON files; metrics.md defines it.
struct Metric {
  std::string name;   // "makespan_s"
  std::string label;  // in tables: "time"
  MetricKind quantity = MetricKind::seconds;
  std::optional<double> value;  // empty: unknown
};
using Metrics = std::vector<Metric>;

std::string format_value(MetricKind quantity, double value);  // "33.00 s", "24.0 MiB", "10.9 %"
// Formats value - base: "+1.60 ms", or "+1.2 pp" (percentage points) for ratios.
std::string format_difference(MetricKind quantity, double base, double value);
// Formats (value - base) / |base|: "+4.8 %", "0 %", or "-" if it is undefined.
std::string format_change(double base, double value);
// Returns value - base, or 0 if they differ only by rounding: by less than 1e-9 of the larger one.
double difference(double base, double value);
// Returns difference(base, value) / |base|; 0 if both are 0, infinite if only `base` is 0.
double relative_change(double base, double value);

// Finds a metric by its key, with or without the unit ("makespan"), or by its label in tables
// ("time"). Of several metrics with the label, returns the first known one. Null if there is none.
const Metric* find_metric(const Metrics& metrics, std::string_view name);

// Returns the name of the metric whose spelling is closest to an unknown name, to suggest it in an
// error message; empty if none is close.
std::string nearest_name(const Metrics& metrics, std::string_view name);

Json metrics_json(const Metrics& metrics);  // by key; unknown values are null

// Returns the changes of all metrics that both runs know: {"makespan_s": {"difference": ..,
// "change": ..}, ..}.
Json differences_json(const Metrics& base, const Metrics& run);

}  // namespace pipewright::analysis
