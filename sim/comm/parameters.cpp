#include "sim/comm/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/comm/prediction.hpp"

namespace pipewright::comm {
namespace {

using cluster::Cluster;
using cluster::Link;
using cluster::ParameterInfo;

// Value around which the scale of a parameter that may be 0 changes from linear to logarithmic.
double linear_range(const ParameterInfo& info) {
  return info.unit == cluster::ParameterUnit::seconds ? 1e-6 : 0.1;
}

// Upper limit of the fit for a parameter that the platform file does not set.
double max_plausible(const ParameterInfo& info) {
  return info.unit == cluster::ParameterUnit::seconds ? 20e-6 : 3;
}

constexpr double row_scatter = 0.05;  // assumed scatter of rows around the model

// Standard deviation of a parameter between machines of the same kind, on the scale of the fit.
// Rates are close to the data sheet; software latencies are not. What remains of a fabric's rate in
// all-to-alls differs by four times between measured machines.
double machine_spread(const ParameterInfo& info, double value) {
  if (info.suffix == "direct-efficiency") return 1;
  if (info.suffix == "efficiency" || info.suffix == "sharp-efficiency") return 0.1;
  if (info.unit == cluster::ParameterUnit::ratio) return 0.3;
  if (value <= 0) return 1;
  return info.is_per_class ? 0.35 : 0.5;
}

// Returns the latency of a class of links in seconds; nothing if its links have different
// latencies.
std::optional<double> common_latency(const Cluster& cluster, const std::string& link_class) {
  std::optional<double> latency;
  for (const Link* link : cluster.links()) {
    if (cluster.link_class(link) != link_class) continue;
    if (latency && *latency != cluster.latency_of(link)) return std::nullopt;
    latency = cluster.latency_of(link);
  }
  return latency;
}

std::optional<double> parameter_value(const Cluster& cluster, const std::string& owner,
                                      const ParameterInfo& info) {
  if (info.is_per_class && info.suffix == "latency") return common_latency(cluster, owner);
  if (const auto value = parameter(cluster.model(), fmt::format("{}.{}", owner, info.suffix)))
    return value;
  return info.suffix == "efficiency" ? std::optional(1.0) : std::nullopt;
}

// Adds the link classes between consecutive ranks and between the first rank and all others. Ranks
// in order use no other kinds of routes.
void add_classes(const Cluster& cluster, const execution::RankPlacement& placement,
                 std::set<std::string>& classes) {
  for (std::uint32_t rank = 1; rank < placement.size(); ++rank)
    for (const std::uint32_t peer : {0U, rank - 1})
      for (const Link* link : placement.route(peer, rank).links)
        classes.insert(cluster.link_class(link));
}

}  // namespace

double Parameter::to_scale(double number) const {
  return info->minimum > 0 ? std::log(number) : std::asinh(number / linear_range(*info));
}

double Parameter::from_scale(double x) const {
  const double number = info->minimum > 0 ? std::exp(x) : std::sinh(x) * linear_range(*info);
  return std::clamp(number, info->minimum, info->maximum);
}

Unknown Parameter::unknown() const {
  const bool is_ratio = info->unit == cluster::ParameterUnit::ratio;
  const double max_factor = is_requested ? 30 : 10;
  double minimum = info->minimum;
  double maximum = is_ratio ? std::max(1.0, value) : max_plausible(*info);
  if (value > 0) {
    minimum = std::max(minimum, value / max_factor);
    maximum = is_ratio ? maximum : value * max_factor;
  }
  maximum = std::min(maximum, info->maximum);
  return {.start = to_scale(value),
          .minimum = to_scale(minimum),
          .maximum = to_scale(maximum),
          .prior = to_scale(value),
          .prior_weight = is_requested ? weak_prior : row_scatter / machine_spread(*info, value)};
}

std::vector<Parameter> candidate_parameters(const Cluster& cluster,
                                            std::span<const analysis::Measurement> rows) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::set<std::string> classes;
  for (const analysis::Measurement& row : rows)
    if (seen.emplace(row.ranks, row.nodes).second)
      add_classes(cluster, benchmark_run(cluster, row).placement, classes);
  std::vector<std::string> owners{"collective"};
  for (const std::string& name : cluster.link_classes())
    if (classes.contains(name)) owners.push_back(name);
  std::vector<Parameter> parameters;
  for (const std::string& owner : owners)
    for (const ParameterInfo& info : cluster::parameter_list()) {
      if (info.is_per_class != (owner != "collective")) continue;
      if (const auto value = parameter_value(cluster, owner, info))
        parameters.push_back({fmt::format("{}.{}", owner, info.suffix), &info, *value});
    }
  return parameters;
}

std::vector<Parameter> named_parameters(const Cluster& cluster,
                                        std::span<const std::string> names) {
  const std::vector<std::string> classes = cluster.link_classes();
  std::vector<Parameter> parameters;
  for (const std::string& name : names) {
    const std::size_t dot = std::min(name.rfind('.'), name.size());
    const std::string owner = name.substr(0, dot);
    const std::string suffix = name.substr(std::min(dot + 1, name.size()));
    const bool is_class_parameter = owner != "collective";
    std::vector<std::string> names_of_owner;
    const ParameterInfo* info = nullptr;
    for (const ParameterInfo& candidate : cluster::parameter_list()) {
      if (candidate.is_per_class != is_class_parameter) continue;
      names_of_owner.push_back(fmt::format("{}.{}", owner, candidate.suffix));
      if (candidate.suffix == suffix) info = &candidate;
    }
    if (is_class_parameter && std::ranges::find(classes, owner) == classes.end())
      throw cluster::Error(
          fmt::format("parameter '{}': {} has no links of class '{}'", name, cluster.name(), owner))
          .suggest(fmt::format("choose from collective, {}", fmt::join(classes, ", ")));
    if (info == nullptr)
      throw cluster::Error(fmt::format("parameter '{}' is unknown", name))
          .suggest(fmt::format("choose from {}", fmt::join(names_of_owner, ", ")));
    if (std::ranges::any_of(parameters,
                            [&](const Parameter& parameter) { return parameter.name == name; }))
      throw cluster::Error(fmt::format("parameter '{}' is named twice", name));
    const auto value = parameter_value(cluster, owner, *info);
    if (!value)
      throw cluster::Error(fmt::format(
          "parameter '{}' is not set in {}; a fit starts from the value in the platform file", name,
          cluster.name()));
    parameters.push_back({name, info, *value, true});
  }
  return parameters;
}

RowPredictor::RowPredictor(cluster::Cluster& cluster, std::span<const Parameter> parameters,
                           std::span<const analysis::Measurement> rows)
    : cluster_(cluster), parameters_(parameters), rows_(rows.size()), model_(cluster.model()) {
  std::map<std::tuple<analysis::Operation, std::uint32_t, std::uint32_t>, std::size_t> curve_of;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto key = std::tuple(rows[i].operation, rows[i].ranks, rows[i].nodes);
    const auto [entry, is_new] = curve_of.emplace(key, curves_.size());
    if (is_new) {
      const BenchmarkRun run = benchmark_run(cluster, rows[i]);
      curves_.push_back({run, PricedRun(cluster, run), {}});
    }
    curves_[entry->second].rows[rows[i].bytes].push_back(i);
  }
}

void RowPredictor::replan() {
  for (Curve& curve : curves_) curve.priced = PricedRun(cluster_, curve.run);
}

void RowPredictor::freeze_expectations(bool is_frozen) {
  for (Curve& curve : curves_) curve.priced.assume(is_frozen ? &model_ : nullptr);
}

std::vector<double> RowPredictor::seconds(std::span<const std::size_t> chosen,
                                          std::span<const double> values) const {
  cluster::MessageModel model = model_;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    set_parameter(model, parameters_[chosen[i]].name, values[i]);
  std::vector<double> predicted(rows_);
  for (const Curve& curve : curves_) {
    const PricedRun::Prices prices = curve.priced.prices(model);
    for (const auto& [bytes, rows] : curve.rows) {
      const double seconds = prices.seconds(bytes);
      for (const std::size_t row : rows) predicted[row] = seconds;
    }
  }
  return predicted;
}

std::vector<cluster::Protocol> RowPredictor::protocols() const {
  std::vector<cluster::Protocol> protocols(rows_);
  for (const Curve& curve : curves_) {
    const PricedRun::Prices prices = curve.priced.prices(model_);
    for (const auto& [bytes, rows] : curve.rows)
      for (const std::size_t row : rows) protocols[row] = prices.protocol(bytes);
  }
  return protocols;
}

std::vector<double> RowPredictor::exact_seconds(std::span<const std::size_t> chosen,
                                                std::span<const double> values) {
  for (std::size_t i = 0; i < chosen.size(); ++i)
    cluster_.set_parameter(parameters_[chosen[i]].name, values[i]);
  std::vector<double> predicted(rows_);
  for (const Curve& curve : curves_) {
    const Formula formula(curve.run);
    for (const auto& [bytes, rows] : curve.rows)
      for (const std::size_t row : rows) predicted[row] = formula.seconds(bytes);
  }
  return predicted;
}

}  // namespace pipewright::comm
