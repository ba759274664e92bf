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

// The names of cables by class, and of switches.
std::map<std::string, std::vector<std::string>> kinds_of(const Cluster& cluster) {
  std::map<std::string, std::vector<std::string>> kinds;
  std::set<std::string> known;
  for (const cluster::Link* link : cluster.links()) {
    std::string cable = cluster::without_direction(Cluster::link_name(link));
    if (known.insert(cable).second)
      kinds[cluster.link_class(link) + " link"].push_back(std::move(cable));
  }
  if (std::vector<std::string> switches = cluster.switches(); !switches.empty())
    kinds["switch"] = std::move(switches);
  return kinds;
}

Failure try_one(Cluster& cluster, const std::string& kind, const std::string& name, double left,
                const Ask& ask) {
  Failure failure{.kind = kind, .name = name};
  cluster.scale_link(name, left);
  try {
    failure.seconds = ask();
  } catch (const cluster::Error& error) {
    failure.cut_off = error.what();
  }
  cluster.scale_link(name, left > 0 ? 1 / left : 1);
  return failure;
}

}  // namespace

analysis::FailureSurvey survey_failures(Cluster& cluster, const Ask& ask,
                                        const FailureOptions& options, const Progress& progress) {
  analysis::FailureSurvey found{.cluster = cluster.name(), .left = options.left};
  found.whole = ask();
  std::vector<std::pair<std::string, std::string>> tries;  // kind and name
  for (const auto& [kind, names] : kinds_of(cluster)) {
    const std::size_t all = names.size();
    const std::size_t count = std::min<std::size_t>(all, options.most);
    found.kinds.push_back({.kind = kind, .all = all, .tried = count});
    for (std::size_t i = 0; i < count; ++i) tries.emplace_back(kind, names[i * all / count]);
  }
  for (std::size_t i = 0; i < tries.size(); ++i) {
    progress(static_cast<double>(i) / static_cast<double>(tries.size()));
    found.failures.push_back(try_one(cluster, tries[i].first, tries[i].second, options.left, ask));
  }
  std::ranges::stable_sort(found.failures, [](const Failure& one, const Failure& other) {
    if (one.cut_off.empty() != other.cut_off.empty()) return !one.cut_off.empty();
    return one.seconds > other.seconds;
  });
  return found;
}

analysis::HashSurvey survey_hashes(Cluster& cluster, const Ask& ask, std::uint32_t seeds,
                                   const std::vector<std::uint32_t>& flows,
                                   const Progress& progress) {
  using config::MultipathBy;
  const config::Multipath before = cluster.multipath();
  analysis::HashSurvey found{.cluster = cluster.name(), .seeds = seeds};
  cluster.set_multipath({.by = MultipathBy::spread});
  found.spread = ask();
  const double all = static_cast<double>(flows.size()) * seeds;
  double done = 0;
  for (const std::uint32_t count : flows) {
    analysis::HashedTimes& times = found.by_flows.emplace_back();
    times.flows = count;
    for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
      progress(done++ / all);
      cluster.set_multipath({.by = MultipathBy::hash, .seed = seed, .flows = count});
      times.seconds.push_back(ask());
    }
    std::ranges::sort(times.seconds);
  }
  cluster.set_multipath(before);
  return found;
}

}  // namespace pipewright::comm
