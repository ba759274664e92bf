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
  // What is further off is no such link any more, but a row that the model does not know.
  constexpr double furthest = 30;
  const bool is_known = value > 0;
  const double least = is_known ? std::max(info->least, value / furthest) : info->least;
  const double most = is_known ? std::min(info->most, value * furthest) : info->most;
  return {to_scale(value), to_scale(least), to_scale(most), to_scale(value)};
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
    found.push_back({name, info, *value});
  }
  return found;
}

RowPredictor::RowPredictor(cluster::Cluster& cluster, std::span<const Parameter> parameters,
                           std::span<const analysis::Measurement> rows)
    : cluster_(cluster), parameters_(parameters), rows_(rows) {
  for (const Parameter& parameter : parameters) values_.push_back(parameter.value);
  std::map<std::tuple<analysis::Operation, std::uint32_t, std::uint32_t>, std::size_t> curve_of;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto key = std::tuple(rows[i].operation, rows[i].ranks, rows[i].nodes);
    const auto [place, is_new] = curve_of.emplace(key, curves_.size());
    if (is_new) curves_.push_back({run_of(cluster, rows[i]), {}});
    curves_[place->second].rows.push_back(i);
  }
}

std::vector<double> RowPredictor::seconds(std::span<const std::size_t> chosen,
                                          std::span<const double> values) {
  std::vector<double> wanted;
  for (const Parameter& parameter : parameters_) wanted.push_back(parameter.value);
  for (std::size_t i = 0; i < chosen.size(); ++i) wanted[chosen[i]] = values[i];
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != values_[i]) cluster_.set_parameter(parameters_[i].name, wanted[i]);
  values_ = std::move(wanted);
  std::vector<double> predicted(rows_.size());
  for (const Curve& curve : curves_) {
    const Formula formula(curve.run);
    for (const std::size_t row : curve.rows) predicted[row] = formula.seconds(rows_[row].bytes);
  }
  return predicted;
}

}  // namespace pipewright::comm
