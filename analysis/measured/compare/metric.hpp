#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report_table.hpp"

namespace pipewright::analysis {

// What a number counts, which says its unit.
enum class MetricKind { seconds, bytes, ratio, samples_per_s, tokens_per_s, flops, count };

// One number of a run, by the name that it has in JSON; metrics.md defines it.
struct Metric {
  std::string name;   // "makespan_s"
  std::string label;  // in tables: "time"
  MetricKind quantity = MetricKind::seconds;
  std::optional<double> value;  // empty: unknown
};
using Metrics = std::vector<Metric>;

// Whether it is the time of a run or of an iteration, or counted from that.
bool is_of_time(const Metric& metric);

std::string format_value(MetricKind quantity, double value);  // "33.00 s", "24.0 MiB", "10.9 %"
// How much `value` is more than `base`: "+1.60 ms", of ratios "+1.2 pp".
std::string format_difference(MetricKind quantity, double base, double value);
// How much `value` is more than `base`: "+4.8 %", "0 %", "-" where there is no saying.
std::string format_change(double base, double value);
// value - base: 0 if that is rounding, less than 1e-9 of the greater.
double difference(double base, double value);
// difference / |base|: 0 if both are 0, infinite if only `base` is.
double relative_change(double base, double value);

// The metric of that name, which may leave out its unit ("makespan"), or of that label in tables
// ("time"), of several the first that is known; null if there is none.
const Metric* find_metric(const Metrics& metrics, std::string_view name);

// What may be meant by a name that no metric has: one that is spelt nearly so; empty if none is.
std::string nearest_name(const Metrics& metrics, std::string_view name);

Json metrics_json(const Metrics& metrics);  // by name; null where unknown

// {"makespan_s": {"difference": .., "change": ..}, ..} of those known in both.
Json differences_json(const Metrics& base, const Metrics& run);

}  // namespace pipewright::analysis
