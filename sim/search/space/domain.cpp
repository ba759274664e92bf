#include "sim/search/space/domain.hpp"

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/search/space/knowledge.hpp"

namespace pipewright::search {
namespace {

// Those that a cluster has, or else all that it has of them.
std::vector<std::uint64_t> gpus_on(const ClusterFacts& cluster, const Sweep& sweep) {
  if (sweep.gpus.empty()) return {cluster.gpus};
  std::vector<std::uint64_t> counts;
  for (const std::uint32_t gpus : sweep.gpus)
    if (cluster.gpus == 0 || gpus <= cluster.gpus) counts.push_back(gpus);
  return counts;
}

}  // namespace

Domain::Domain(const Sweep& sweep, const std::vector<ClusterFacts>& facts)
    : axes(make_axes(sweep, facts)),
      names(make_names(sweep, facts, axes)),
      rules(make_rules(sweep, axes, names)) {
  config::Value rest = axes.scenario;
  for (const Axis& axis : axes.open) {
    at_path(rest, axis.path) = {};
    combinations *= static_cast<double>(axis.values.size());
  }
  fixed_gpus = size_product(scalars(rest, ""));
  for (const ClusterFacts& cluster : facts) allowed_gpus.push_back(gpus_on(cluster, sweep));
  if (allowed_gpus.empty()) allowed_gpus.push_back(gpus_on({}, sweep));
}

std::string Domain::shown(std::span<const std::uint32_t> digits) const {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const analysis::SearchAxis& axis = axes.open[i].info;
    if (axis.values.size() > 1)  // else it says nothing
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis.name,
                          config::shown(axis.values[digits[i]]));
  }
  return text;
}

}  // namespace pipewright::search
