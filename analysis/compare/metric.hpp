#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::analysis {

// What a number counts, which says its unit.
enum class Quantity { seconds, bytes, ratio, samples_per_s, tokens_per_s, flops, count };

// One number of a run, by the name that it has in JSON; metrics.md defines it.
struct Metric {
  std::string name;   // "makespan_s"
  std::string label;  // in tables: "time"
  Quantity quantity = Quantity::seconds;
  std::optional<double> value;  // empty: unknown
};
using Metrics = std::vector<Metric>;

std::string format_value(Quantity quantity, double value);       // "33.00 s", "24.0 MiB", "10.9 %"
std::string format_difference(Quantity quantity, double value);  // "+1.60 ms"; of ratios "+1.2 pp"
// How much `value` is more than `base`: "+4.8 %", "0 %", "-" where there is no saying.
std::string format_change(double base, double value);
// (value - base) / |base|: 0 if both are 0, infinite if only `base` is.
double relative_change(double base, double value);

// The metric of that name, which may leave out its unit ("makespan"); null if there is none.
const Metric* find_metric(const Metrics& metrics, std::string_view name);

}  // namespace pipewright::analysis
