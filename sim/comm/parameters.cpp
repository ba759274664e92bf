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

// Where a value that may be 0 begins to count by its logarithm.
double small(const ParameterInfo& info) {
  return info.unit == cluster::ParameterUnit::seconds ? 1e-6 : 0.1;
}

// The most that a number may be of which the file says nothing.
double plausible(const ParameterInfo& info) {
  return info.unit == cluster::ParameterUnit::seconds ? 20e-6 : 3;
}

constexpr double scatter = 0.05;  // of rows, about what the model does not know

// By how much a number differs between machines that are of one kind, in the scale of parameters:
// rates are nearly those of the data sheet, the software's times are not.
double spread(const ParameterInfo& info, double value) {
  if (info.suffix == "efficiency" || info.suffix == "sharp-efficiency") return 0.1;
  if (info.unit == cluster::ParameterUnit::ratio) return 0.3;
  if (value <= 0) return 1;
  return info.of_class ? 0.35 : 0.5;
}

// What the links of a class say of themselves, if they agree.
std::optional<double> common_latency(const Cluster& cluster, const std::string& link_class) {
  std::optional<double> latency;
  for (const Link* link : cluster.links()) {
    if (cluster.link_class(link) != link_class) continue;
    if (latency && *latency != cluster.latency_of(link)) return std::nullopt;
    latency = cluster.latency_of(link);
  }
  return latency;
}

std::optional<double> value_of(const Cluster& cluster, const std::string& owner,
                               const ParameterInfo& info) {
  if (info.of_class && info.suffix == "latency") return common_latency(cluster, owner);
  if (const auto value = parameter(cluster.model(), fmt::format("{}.{}", owner, info.suffix)))
    return value;
  return info.suffix == "efficiency" ? std::optional(1.0) : std::nullopt;
}

// Of the links from one rank to the next, and from the first to all, which is every kind of way
// that ranks in order use.
void add_classes(const Cluster& cluster, const execution::RankPlacement& placement,
                 std::set<std::string>& classes) {
  for (std::uint32_t rank = 1; rank < placement.size(); ++rank)
    for (const std::uint32_t other : {0U, rank - 1})
      for (const Link* link : placement.route(other, rank).links)
        classes.insert(cluster.link_class(link));
}

}  // namespace

double Parameter::to_scale(double of) const {
  return info->least > 0 ? std::log(of) : std::asinh(of / small(*info));
}

double Parameter::from_scale(double x) const {
  const double of = info->least > 0 ? std::exp(x) : std::sinh(x) * small(*info);
  return std::clamp(of, info->least, info->most);
}

Unknown Parameter::unknown() const {
  const bool is_ratio = info->unit == cluster::ParameterUnit::ratio;
  const double furthest = asked ? 30 : 10;
  double least = info->least;
  double most = is_ratio ? std::max(1.0, value) : plausible(*info);
  if (value > 0) {
    least = std::max(least, value / furthest);
    most = is_ratio ? most : value * furthest;
  }
  most = std::min(most, info->most);
  return {.start = to_scale(value),
          .least = to_scale(least),
          .most = to_scale(most),
          .usual = to_scale(value),
          .pull = asked ? little_pull : scatter / spread(*info, value)};
}

std::vector<Parameter> candidates(const Cluster& cluster,
                                  std::span<const analysis::Measurement> rows) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::set<std::string> classes;
  for (const analysis::Measurement& row : rows)
    if (seen.emplace(row.ranks, row.nodes).second)
      add_classes(cluster, run_of(cluster, row).placement, classes);
  std::vector<std::string> owners{"collective"};
  for (const std::string& name : cluster.link_classes())
    if (classes.contains(name)) owners.push_back(name);
  std::vector<Parameter> found;
  for (const std::string& owner : owners)
    for (const ParameterInfo& info : cluster::parameter_list()) {
      if (info.of_class != (owner != "collective")) continue;
      if (const auto value = value_of(cluster, owner, info))
        found.push_back({fmt::format("{}.{}", owner, info.suffix), &info, *value});
    }
  return found;
}

std::vector<Parameter> named_parameters(const Cluster& cluster,
                                        std::span<const std::string> names) {
  const std::vector<std::string> classes = cluster.link_classes();
  std::vector<Parameter> found;
  for (const std::string& name : names) {
    const std::size_t dot = std::min(name.rfind('.'), name.size());
    const std::string owner = name.substr(0, dot);
    const std::string suffix = name.substr(std::min(dot + 1, name.size()));
    const bool of_class = owner != "collective";
    std::vector<std::string> known;
    const ParameterInfo* info = nullptr;
    for (const ParameterInfo& one : cluster::parameter_list()) {
      if (one.of_class != of_class) continue;
      known.push_back(fmt::format("{}.{}", owner, one.suffix));
      if (one.suffix == suffix) info = &one;
    }
    if (of_class && std::ranges::find(classes, owner) == classes.end())
      throw cluster::Error(
          fmt::format("parameter '{}': {} has no links of class '{}'; there are collective, {}",
                      name, cluster.name(), owner, fmt::join(classes, ", ")));
    if (info == nullptr)
      throw cluster::Error(
          fmt::format("parameter '{}': there are {}", name, fmt::join(known, ", ")));
    if (std::ranges::any_of(found, [&](const Parameter& one) { return one.name == name; }))
      throw cluster::Error(fmt::format("parameter '{}' is named twice", name));
    const auto value = value_of(cluster, owner, *info);
    if (!value)
      throw cluster::Error(fmt::format(
          "parameter '{}': {} does not say it; a fit begins at the value of the platform file",
          name, cluster.name()));
    found.push_back({name, info, *value, true});
  }
  return found;
}

RowPredictor::RowPredictor(cluster::Cluster& cluster, std::span<const Parameter> parameters,
                           std::span<const analysis::Measurement> rows)
    : cluster_(cluster), parameters_(parameters), rows_(rows.size()), model_(cluster.model()) {
  std::map<std::tuple<analysis::Operation, std::uint32_t, std::uint32_t>, std::size_t> curve_of;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto key = std::tuple(rows[i].operation, rows[i].ranks, rows[i].nodes);
    const auto [place, is_new] = curve_of.emplace(key, curves_.size());
    if (is_new) {
      const BenchmarkRun run = run_of(cluster, rows[i]);
      curves_.push_back({run, PricedRun(cluster, run), {}});
    }
    curves_[place->second].rows[rows[i].bytes].push_back(i);
  }
}

void RowPredictor::plan_anew() {
  for (Curve& curve : curves_) curve.priced = PricedRun(cluster_, curve.run);
}

void RowPredictor::keep_expectations(bool keep) {
  for (Curve& curve : curves_) curve.priced.expect(keep ? &model_ : nullptr);
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
  std::vector<cluster::Protocol> found(rows_);
  for (const Curve& curve : curves_) {
    const PricedRun::Prices prices = curve.priced.prices(model_);
    for (const auto& [bytes, rows] : curve.rows)
      for (const std::size_t row : rows) found[row] = prices.protocol(bytes);
  }
  return found;
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
