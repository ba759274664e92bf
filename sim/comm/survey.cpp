#include "sim/comm/survey.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/cluster/platform/names.hpp"

namespace pipewright::comm {
namespace {

using analysis::Failure;
using cluster::Cluster;

// Names of elements that may fail, by kind: the cables of each link class, and the switches.
std::map<std::string, std::vector<std::string>> names_by_kind(const Cluster& cluster) {
  std::map<std::string, std::vector<std::string>> kinds;
  std::set<std::string> cables;
  for (const cluster::Link* link : cluster.links()) {
    std::string cable = cluster::without_direction(Cluster::link_name(link));
    if (cables.insert(cable).second)
      kinds[cluster.link_class(link) + " link"].push_back(std::move(cable));
  }
  if (std::vector<std::string> switches = cluster.switches(); !switches.empty())
    kinds["switch"] = std::move(switches);
  return kinds;
}

Failure fail_element(Cluster& cluster, const std::string& kind, const std::string& name,
                     double remaining, const Measure& measure) {
  Failure failure{.kind = kind, .name = name};
  cluster.scale_link(name, remaining);
  try {
    failure.seconds = measure();
  } catch (const cluster::Error& error) {
    failure.cut_off = error.what();
  }
  cluster.scale_link(name, remaining > 0 ? 1 / remaining : 1);
  return failure;
}

}  // namespace

analysis::FailureSurvey survey_failures(Cluster& cluster, const Measure& measure,
                                        const FailureOptions& options, const Progress& progress) {
  analysis::FailureSurvey survey{.cluster = cluster.name(), .left = options.remaining};
  survey.whole = measure();
  std::vector<std::pair<std::string, std::string>> attempts;  // (kind, name)
  for (const auto& [kind, names] : names_by_kind(cluster)) {
    const std::size_t total = names.size();
    const std::size_t count = std::min<std::size_t>(total, options.max_per_kind);
    survey.kinds.push_back({.kind = kind, .all = total, .tried = count});
    for (std::size_t i = 0; i < count; ++i) attempts.emplace_back(kind, names[i * total / count]);
  }
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    progress(static_cast<double>(i) / static_cast<double>(attempts.size()));
    survey.failures.push_back(
        fail_element(cluster, attempts[i].first, attempts[i].second, options.remaining, measure));
  }
  std::ranges::stable_sort(survey.failures, [](const Failure& lhs, const Failure& rhs) {
    if (lhs.cut_off.empty() != rhs.cut_off.empty()) return !lhs.cut_off.empty();
    return lhs.seconds > rhs.seconds;
  });
  return survey;
}

analysis::HashSurvey survey_hashes(Cluster& cluster, const Measure& measure, std::uint32_t seeds,
                                   const std::vector<std::uint32_t>& flows,
                                   const Progress& progress) {
  using config::MultipathBy;
  const config::Multipath before = cluster.multipath();
  analysis::HashSurvey survey{.cluster = cluster.name(), .seeds = seeds};
  cluster.set_multipath({.by = MultipathBy::adaptive});
  survey.spread = measure();
  const double total = static_cast<double>(flows.size()) * seeds;
  double done = 0;
  for (const std::uint32_t count : flows) {
    analysis::HashedTimes& times = survey.by_flows.emplace_back();
    times.flows = count;
    for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
      progress(done++ / total);
      cluster.set_multipath({.by = MultipathBy::hash, .seed = seed, .flows = count});
      times.seconds.push_back(measure());
    }
    std::ranges::sort(times.seconds);
  }
  cluster.set_multipath(before);
  return survey;
}

}  // namespace pipewright::comm
