#include "sim/workload/plan/limits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::workload {
namespace {

constexpr double most_seconds = 1e9;
constexpr double most_buckets = 1e5;  // of a stage

// Where a key was given, or the model or the scenario as a whole.
config::Origin origin_of(const config::Scenario& scenario, std::string_view map,
                         std::string_view key) {
  const config::Value* const outer = config::find(scenario.tree, map);
  const config::Value* const given = outer != nullptr ? config::find(*outer, key) : nullptr;
  if (given != nullptr) return given->origin;
  return scenario.model ? scenario.model->origin : scenario.tree.origin;
}

// "44.1 kB", for messages.
std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 6> units{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

void check_seconds(const config::Scenario& scenario, const StageCosts& costs) {
  double most = 0;
  const auto see = [&](const std::vector<double>& seconds) {
    for (const double each : seconds) most = std::isfinite(each) ? std::max(most, each) : HUGE_VAL;
  };
  for (const std::vector<double>& of_stage : costs.times.of_stage) see(of_stage);
  see(costs.optimizer_seconds);
  if (most <= most_seconds) return;
  throw config::Error(config::locate(
      scenario.model ? scenario.model->origin : scenario.tree.origin,
      fmt::format("a pass of a stage, or its optimizer, would take {:.3g} s, and 1e9 s is the most "
                  "that is simulated; the model is too large, or its GPU too slow: look at the "
                  "GPU's flops, bandwidth and efficiencies",
                  most)));
}

void check_buckets(const config::Scenario& scenario, const StageCosts& costs) {
  const std::uint32_t copies = scenario.parallel.dp.value * scenario.parallel.cp.value;
  if (copies <= 1) return;
  const auto bucket = static_cast<double>(config::bucket_bytes(scenario.communication, copies));
  double most = 0;
  for (const StageTraffic& stage : costs.traffic)
    most = std::max(most,
                    static_cast<double>(stage.parameters) * scenario.communication.gradient_bytes);
  if (most <= most_buckets * bucket) return;
  constexpr double bare = 1000;  // bytes: so few are a number without its unit
  const std::string meant =
      bucket < bare ? fmt::format("did you mean {:.0f} MB? ", bucket) : std::string();
  throw config::Error(config::locate(
      origin_of(scenario, "communication", "bucket"),
      fmt::format("communication.bucket is {}, and a stage has {} of gradients, which makes {:.0f} "
                  "buckets, more than the {:.0f} that are simulated; {}allowed: {} or more",
                  bytes_text(bucket), bytes_text(most), std::ceil(most / bucket), most_buckets,
                  meant, bytes_text(1.005 * most / most_buckets))));
}

}  // namespace

void check_limits(const config::Scenario& scenario, const StageCosts& costs) {
  check_seconds(scenario, costs);
  check_buckets(scenario, costs);
}

}  // namespace pipewright::workload
