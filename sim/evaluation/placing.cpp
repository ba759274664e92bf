#include "sim/evaluation/placing.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::evaluation {
namespace {

using cluster::Cluster;
using cluster::Host;
using workload::Group;
using workload::Ranks;

// Those who talk in every layer.
struct Kind {
  Group group;
  const char* name;
};
constexpr std::array kinds{Kind{Group::tp, "tp"}, Kind{Group::cp, "cp"},
                           Kind{Group::cp_a2a, "cp's all-to-all"}, Kind{Group::etp, "etp"},
                           Kind{Group::ep, "ep"}};

using Domains = std::vector<std::vector<Host*>>;

std::uint32_t largest_of(const Domains& domains) {
  std::size_t largest = 0;
  for (const auto& gpus : domains) largest = std::max(largest, gpus.size());
  return static_cast<std::uint32_t>(largest);
}

// Of the types that a placement names, in that order; of all where it names none.
Domains of_types(const config::Placement& placement, const Domains& all) {
  if (placement.gpu_types.empty()) return all;
  Domains chosen;
  for (const auto& type : placement.gpu_types)
    for (const std::vector<Host*>& gpus : all) {
      std::vector<Host*> of_type;
      std::ranges::copy_if(gpus, std::back_inserter(of_type),
                           [&](const Host* gpu) { return cluster::gpu_of(gpu) == type.value; });
      if (!of_type.empty()) chosen.push_back(std::move(of_type));
    }
  return chosen;
}

// Throws config::Error for a type that the cluster lacks.
void check_types(const config::Placement& placement, const Cluster& cluster) {
  if (placement.gpu_types.empty()) return;
  std::set<std::string> types;
  for (const Host* gpu : cluster.gpus()) types.insert(cluster::gpu_of(gpu));
  types.erase("");
  for (const auto& type : placement.gpu_types)
    if (!types.contains(type.value))
      throw config::Error(config::locate(
          type.origin,
          fmt::format("placement.gpu_types names {}; {} has {}", type.value, cluster.name(),
                      types.empty() ? std::string("no types of GPU; allowed: without the key")
                                    : fmt::format("none; allowed: {}", fmt::join(types, ", ")))));
}

std::uint64_t sum(const std::vector<std::uint64_t>& used) {
  return std::accumulate(used.begin(), used.end(), std::uint64_t{0});
}

// Of each domain, as many GPUs as make whole runs of `unit` ranks.
std::vector<std::uint64_t> whole_runs(const Domains& domains, std::uint64_t unit) {
  std::vector<std::uint64_t> used;
  for (const auto& gpus : domains) used.push_back(gpus.size() / unit * unit);
  return used;
}

std::vector<std::uint64_t> at_most(const Domains& domains, std::uint64_t most) {
  std::vector<std::uint64_t> used;
  for (const auto& gpus : domains) used.push_back(std::min<std::uint64_t>(gpus.size(), most));
  return used;
}

// Runs of ranks that hold the groups of a kind whole, for all kinds that a domain can hold and that
// leave enough GPUs: where not all do, those of the shortest runs.
std::uint64_t unit_of(const Ranks& ranks, const Domains& domains) {
  std::vector<std::uint64_t> runs;
  for (const Kind& kind : kinds)
    if (const std::uint32_t run = ranks.run(kind.group); run <= largest_of(domains))
      runs.push_back(run);
  std::ranges::sort(runs);
  for (; !runs.empty(); runs.pop_back()) {
    std::uint64_t unit = 1;
    for (const std::uint64_t run : runs) unit = std::lcm(unit, run);
    if (sum(whole_runs(domains, unit)) >= ranks.size()) return unit;
  }
  return 1;
}

std::vector<Host*> take(const Domains& domains, const std::vector<std::uint64_t>& used,
                        std::uint32_t count) {
  std::vector<Host*> hosts;
  for (std::size_t i = 0; i < domains.size() && hosts.size() < count; ++i) {
    const std::uint64_t more = std::min<std::uint64_t>(used[i], count - hosts.size());
    hosts.insert(hosts.end(), domains[i].begin(),
                 domains[i].begin() + static_cast<std::ptrdiff_t>(more));
  }
  return hosts;
}

// Where devices have other numbers of ranks: each in runs that keep the groups of these kinds
// whole, in the first domains with room for them. None if there is not enough.
std::optional<std::vector<Host*>> take_by_device(const Domains& domains,
                                                 std::vector<std::uint64_t> free,
                                                 std::span<const Kind> kept, const Ranks& ranks) {
  std::vector<Host*> hosts;
  for (std::uint32_t device = 0; device < ranks.devices(); ++device) {
    std::uint64_t unit = 1;
    for (const Kind& kind : kept)
      if (const std::uint32_t run = ranks.run(kind.group, device); run <= largest_of(domains))
        unit = std::lcm(unit, std::uint64_t{run});
    std::uint64_t left = std::uint64_t{ranks.ranks_per_stage(device)} * ranks.replicas();
    for (std::size_t i = 0; i < domains.size() && left > 0; ++i) {
      const std::uint64_t more = std::min(free[i] / unit * unit, left);
      const auto first = domains[i].end() - static_cast<std::ptrdiff_t>(free[i]);
      hosts.insert(hosts.end(), first, first + static_cast<std::ptrdiff_t>(more));
      free[i] -= more;
      left -= more;
    }
    if (left > 0) return std::nullopt;
  }
  return hosts;
}

// All kinds of groups whole, else those of tensor parallelism, else none.
std::optional<std::vector<Host*>> take_by_device(const Domains& domains, std::uint64_t most,
                                                 const Ranks& ranks) {
  // Of a domain that may be used in part, the first GPUs.
  Domains parts = domains;
  std::vector<std::uint64_t> free;
  for (auto& gpus : parts) {
    gpus.resize(std::min<std::uint64_t>(gpus.size(), most));
    free.push_back(gpus.size());
  }
  for (const std::size_t kept : {kinds.size(), std::size_t{1}, std::size_t{0}})
    if (auto hosts = take_by_device(parts, free, std::span(kinds).first(kept), ranks)) return hosts;
  return std::nullopt;
}

// The least that is enough of each domain; 0: there is none.
std::uint32_t least_enough(const Domains& domains, std::uint32_t ranks) {
  for (std::uint32_t most = 1; most <= largest_of(domains); ++most)
    if (sum(at_most(domains, most)) >= ranks) return most;
  return 0;
}

std::vector<Host*> take_of_each(const config::Located<std::uint32_t>& most, const Domains& domains,
                                const Cluster& cluster, std::uint32_t ranks) {
  const std::uint32_t largest = largest_of(domains);
  if (most.value > largest)
    throw config::Error(config::locate(
        most.origin, fmt::format("placement.domain is {}, and the largest NVLink domain of {} has "
                                 "{} GPUs; allowed: 1 to {}",
                                 most.value, cluster.name(), largest, largest)));
  const std::vector<std::uint64_t> used = at_most(domains, most.value);
  if (sum(used) >= ranks) return take(domains, used, ranks);
  const std::uint32_t enough = least_enough(domains, ranks);
  throw config::Error(config::locate(
      most.origin,
      fmt::format("placement.domain is {}, of {} NVLink domains of {} {} GPUs, and the job takes "
                  "{}; allowed: {}",
                  most.value, domains.size(), cluster.name(), sum(used), ranks,
                  enough > 0 ? fmt::format("{} to {}", enough, largest)
                             : std::string("a job of fewer GPUs, or a larger cluster"))));
}

// Of the types that are named; without them the cluster says it.
void check_enough(const config::Placement& placement, const Domains& domains,
                  const Cluster& cluster, std::uint32_t ranks) {
  const std::uint64_t gpus = sum(at_most(domains, largest_of(domains)));
  if (placement.gpu_types.empty() || gpus >= ranks) return;
  throw config::Error(config::locate(
      placement.gpu_types.front().origin,
      fmt::format("placement.gpu_types leaves {} GPUs of {}, and the job takes {}; allowed: more "
                  "of its types, or fewer GPUs",
                  gpus, cluster.name(), ranks)));
}

std::vector<Host*> take_named(const config::Placement& placement, const Cluster& cluster,
                              std::uint32_t ranks) {
  std::vector<std::string> names;
  for (const auto& host : placement.hosts) names.push_back(host.value);
  try {
    return cluster.place(names, ranks);
  } catch (const cluster::Error& error) {
    throw config::Error(config::locate(placement.hosts.front().origin, error.what()));
  }
}

bool straddles(const std::vector<std::uint32_t>& group, const std::vector<Host*>& hosts,
               const Cluster& cluster) {
  return std::ranges::any_of(group, [&](std::uint32_t rank) {
    return cluster.node_of(hosts[rank]) != cluster.node_of(hosts[group.front()]);
  });
}

}  // namespace

std::vector<Host*> place(const config::Scenario& scenario, const Cluster& cluster,
                         const Ranks& ranks) {
  const config::Placement& placement = scenario.placement;
  if (!placement.hosts.empty()) return take_named(placement, cluster, ranks.size());
  check_types(placement, cluster);
  const Domains domains = of_types(placement, cluster.nodes());
  if (placement.domain) {
    std::vector<Host*> hosts = take_of_each(*placement.domain, domains, cluster, ranks.size());
    return ranks.are_uneven() ? *take_by_device(domains, placement.domain->value, ranks) : hosts;
  }
  if (ranks.are_uneven() && !cluster.is_ideal()) {
    check_enough(placement, domains, cluster, ranks.size());
    if (auto hosts = take_by_device(domains, largest_of(domains), ranks)) return *hosts;
    return cluster.place({}, ranks.size());
  }
  const std::uint64_t unit = domains.size() > 1 ? unit_of(ranks, domains) : 1;
  const bool all =
      std::ranges::all_of(domains, [&](const auto& gpus) { return gpus.size() % unit == 0; });
  if (placement.gpu_types.empty() && all) return cluster.place({}, ranks.size());
  check_enough(placement, domains, cluster, ranks.size());
  return take(domains, whole_runs(domains, unit), ranks.size());
}

std::optional<std::vector<Host*>> place_within(const config::Scenario& scenario, const Ranks& ranks,
                                               const Domains& given) {
  const Domains domains = of_types(scenario.placement, given);
  const auto all = at_most(domains, largest_of(domains));
  if (sum(all) < ranks.size()) return std::nullopt;
  if (ranks.are_uneven())
    return take_by_device(
        domains, scenario.placement.domain ? scenario.placement.domain->value : largest_of(domains),
        ranks);
  if (const auto& most = scenario.placement.domain) {
    const auto used = at_most(domains, most->value);
    return sum(used) < ranks.size() ? std::nullopt
                                    : std::optional(take(domains, used, ranks.size()));
  }
  const auto used = whole_runs(domains, domains.size() > 1 ? unit_of(ranks, domains) : 1);
  return take(domains, sum(used) < ranks.size() ? all : used, ranks.size());
}

std::uint64_t usable_gpus(const config::Placement& placement, const Cluster& cluster) {
  check_types(placement, cluster);
  const Domains domains = of_types(placement, cluster.nodes());
  if (!placement.domain)
    return placement.gpu_types.empty() ? cluster.gpus().size()
                                       : sum(at_most(domains, largest_of(domains)));
  return sum(at_most(domains, placement.domain->value));
}

std::string Straddling::note() const {
  return groups.empty() ? ""
                        : fmt::format("groups of {} straddle NVLink domains; {}", groups, remedy);
}

Straddling straddling(const Ranks& ranks, const std::vector<Host*>& hosts, const Cluster& cluster) {
  const Domains& domains = cluster.nodes();
  if (domains.size() < 2) return {};
  const std::uint32_t largest = largest_of(domains);
  // No part of all domains alike suits devices that differ.
  const std::uint64_t unit = ranks.are_uneven() ? 1 : unit_of(ranks, domains);
  std::vector<std::string> found;
  std::vector<std::string_view> kept;
  for (const Kind& kind : kinds) {
    const std::uint32_t size = ranks.group_size(kind.group);
    const std::uint32_t run = ranks.run(kind.group);
    // All of cp may be one all-to-all, and ranks of tp those who share experts.
    const auto same = [&](Group other) {
      return size == ranks.group_size(other) && run == ranks.run(other);
    };
    const bool again = (kind.group == Group::cp_a2a && same(Group::cp)) ||
                       (kind.group == Group::etp && same(Group::tp));
    if (size == 1 || again || run > largest) continue;
    if (std::ranges::none_of(ranks.groups(kind.group),
                             [&](const auto& group) { return straddles(group, hosts, cluster); }))
      continue;
    found.push_back(fmt::format("{} ({} ranks)", kind.name, size));
    if (unit % run == 0 && !ranks.are_uneven()) kept.emplace_back(kind.name);
  }
  if (found.empty()) return {};
  const std::string whose =
      kept.size() == found.size() ? "them" : fmt::format("those of {}", fmt::join(kept, " and "));
  return {fmt::format("{}", fmt::join(found, " and ")),
          kept.empty() ? fmt::format("no part of {} domains of {} GPUs that keeps them whole is "
                                     "enough for {} ranks; allowed: more domains, or fewer "
                                     "replicas",
                                     domains.size(), largest, ranks.size())
                       : fmt::format("placement.domain={}, so many GPUs of each, keeps {} whole",
                                     largest / unit * unit, whose)};
}

}  // namespace pipewright::evaluation
