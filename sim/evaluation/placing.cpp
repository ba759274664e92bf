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

// Kind of group (tp, cp, ep, ...) that communicates in every layer, and should stay in one NVLink
// domain.
struct GroupKind {
  Group group;
  const char* name;
};
constexpr std::array layer_groups{GroupKind{Group::tp, "tp"}, GroupKind{Group::cp, "cp"},
                                  GroupKind{Group::cp_a2a, "cp's all-to-all"},
                                  GroupKind{Group::etp, "etp"}, GroupKind{Group::ep, "ep"}};

using Domains = std::vector<std::vector<Host*>>;

std::uint32_t largest_of(const Domains& domains) {
  std::size_t largest = 0;
  for (const auto& gpus : domains) largest = std::max(largest, gpus.size());
  return static_cast<std::uint32_t>(largest);
}

// GPUs whose type the placement names, sorted by the order of the names; all GPUs if it names none.
Domains gpus_of_types(const config::Placement& placement, const Domains& domains) {
  if (placement.gpu_types.empty()) return domains;
  Domains chosen;
  for (const auto& type : placement.gpu_types)
    for (const std::vector<Host*>& gpus : domains) {
      std::vector<Host*> matching;
      std::ranges::copy_if(gpus, std::back_inserter(matching),
                           [&](const Host* gpu) { return cluster::gpu_of(gpu) == type.value; });
      if (!matching.empty()) chosen.push_back(std::move(matching));
    }
  return chosen;
}

config::Error types_error(const config::Located<std::string>& type, const Cluster& cluster,
                          const std::set<std::string>& types) {
  const bool has_types = !types.empty();
  config::Error error(type.origin,
                      fmt::format("placement.gpu_types names {}, but {} has {}", type.value,
                                  cluster.name(), has_types ? "none" : "no GPU types"));
  return has_types ? error.allow(fmt::format("{}", fmt::join(types, ", ")))
                   : error.suggest("leave the key out");
}

// Throws config::Error if the placement names a GPU type that the cluster lacks.
void check_types(const config::Placement& placement, const Cluster& cluster) {
  if (placement.gpu_types.empty()) return;
  std::set<std::string> types;
  for (const Host* gpu : cluster.gpus()) types.insert(cluster::gpu_of(gpu));
  types.erase("");
  for (const auto& type : placement.gpu_types)
    if (!types.contains(type.value)) throw types_error(type, cluster, types);
}

std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Number of GPUs of each domain, rounded down to a multiple of `unit`.
std::vector<std::uint64_t> whole_runs(const Domains& domains, std::uint64_t unit) {
  std::vector<std::uint64_t> counts;
  for (const auto& gpus : domains) counts.push_back(gpus.size() / unit * unit);
  return counts;
}

std::vector<std::uint64_t> limited_counts(const Domains& domains, std::uint64_t limit) {
  std::vector<std::uint64_t> counts;
  for (const auto& gpus : domains) counts.push_back(std::min<std::uint64_t>(gpus.size(), limit));
  return counts;
}

// Number of consecutive ranks to keep in one domain, so that all kinds of groups that fit into a
// domain stay whole. If too few GPUs remain, kinds of groups with long runs of ranks are ignored.
std::uint64_t unit_of(const Ranks& ranks, const Domains& domains) {
  std::vector<std::uint64_t> runs;
  for (const GroupKind& kind : layer_groups)
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

std::vector<Host*> take(const Domains& domains, const std::vector<std::uint64_t>& counts,
                        std::uint32_t count) {
  std::vector<Host*> hosts;
  for (std::size_t i = 0; i < domains.size() && hosts.size() < count; ++i) {
    const std::uint64_t taken = std::min<std::uint64_t>(counts[i], count - hosts.size());
    hosts.insert(hosts.end(), domains[i].begin(),
                 domains[i].begin() + static_cast<std::ptrdiff_t>(taken));
  }
  return hosts;
}

// Places devices with different numbers of ranks: each device on the first domains with free GPUs,
// in runs that keep groups of these kinds in one domain. Empty if GPUs do not suffice.
std::optional<std::vector<Host*>> take_by_device(const Domains& domains,
                                                 std::vector<std::uint64_t> free,
                                                 std::span<const GroupKind> whole_kinds,
                                                 const Ranks& ranks) {
  std::vector<Host*> hosts;
  for (std::uint32_t device = 0; device < ranks.devices(); ++device) {
    std::uint64_t unit = 1;
    for (const GroupKind& kind : whole_kinds)
      if (const std::uint32_t run = ranks.run(kind.group, device); run <= largest_of(domains))
        unit = std::lcm(unit, std::uint64_t{run});
    std::uint64_t remaining = std::uint64_t{ranks.ranks_per_stage(device)} * ranks.replicas();
    for (std::size_t i = 0; i < domains.size() && remaining > 0; ++i) {
      const std::uint64_t taken = std::min(free[i] / unit * unit, remaining);
      const auto first = domains[i].end() - static_cast<std::ptrdiff_t>(free[i]);
      hosts.insert(hosts.end(), first, first + static_cast<std::ptrdiff_t>(taken));
      free[i] -= taken;
      remaining -= taken;
    }
    if (remaining > 0) return std::nullopt;
  }
  return hosts;
}

// Keeps all kinds of groups inside domains if possible, else only groups of tensor parallelism,
// else none.
std::optional<std::vector<Host*>> take_by_device(const Domains& domains, std::uint64_t limit,
                                                 const Ranks& ranks) {
  // Only the first GPUs of each domain count if the scenario limits the GPUs per domain.
  Domains parts = domains;
  std::vector<std::uint64_t> free;
  for (auto& gpus : parts) {
    gpus.resize(std::min<std::uint64_t>(gpus.size(), limit));
    free.push_back(gpus.size());
  }
  for (const std::size_t kind_count : {layer_groups.size(), std::size_t{1}, std::size_t{0}})
    if (auto hosts = take_by_device(parts, free, std::span(layer_groups).first(kind_count), ranks))
      return hosts;
  return std::nullopt;
}

// Smallest limit of GPUs per domain with which the cluster has GPUs for all ranks; 0: none
// suffices.
std::uint32_t min_gpus_per_domain(const Domains& domains, std::uint32_t ranks) {
  for (std::uint32_t limit = 1; limit <= largest_of(domains); ++limit)
    if (sum(limited_counts(domains, limit)) >= ranks) return limit;
  return 0;
}

std::vector<Host*> take_of_each(const config::Located<std::uint32_t>& domain_limit,
                                const Domains& domains, const Cluster& cluster,
                                std::uint32_t ranks) {
  const std::uint32_t largest = largest_of(domains);
  if (domain_limit.value > largest)
    throw config::Error(
        domain_limit.origin,
        fmt::format("placement.domain is {}, but the largest NVLink domain of {} has {} GPUs",
                    domain_limit.value, cluster.name(), largest))
        .allow(fmt::format("1 to {}", largest));
  const std::vector<std::uint64_t> counts = limited_counts(domains, domain_limit.value);
  if (sum(counts) >= ranks) return take(domains, counts, ranks);
  const std::uint32_t min_gpus = min_gpus_per_domain(domains, ranks);
  throw config::Error(
      domain_limit.origin,
      fmt::format("placement.domain is {}: {} NVLink domains of {} then offer {} GPUs, but the job "
                  "takes {}",
                  domain_limit.value, domains.size(), cluster.name(), sum(counts), ranks))
      .allow(min_gpus > 0 ? fmt::format("{} to {}", min_gpus, largest)
                          : std::string("a job of fewer GPUs, or a larger cluster"));
}

// Throws config::Error if the cluster has fewer GPUs of the named types than the job has ranks. If
// no types are named, the cluster itself reports a shortage.
void check_enough(const config::Placement& placement, const Domains& domains,
                  const Cluster& cluster, std::uint32_t ranks) {
  const std::uint64_t gpus = sum(limited_counts(domains, largest_of(domains)));
  if (placement.gpu_types.empty() || gpus >= ranks) return;
  throw config::Error(placement.gpu_types.front().origin,
                      fmt::format("placement.gpu_types leaves {} GPUs of {}, but the job takes {}",
                                  gpus, cluster.name(), ranks))
      .allow("more types, or fewer GPUs");
}

std::vector<Host*> take_named(const config::Placement& placement, const Cluster& cluster,
                              std::uint32_t ranks) {
  std::vector<std::string> names;
  for (const auto& host : placement.hosts) names.push_back(host.value);
  try {
    return cluster.place(names, ranks);
  } catch (const cluster::Error& error) {
    throw config::Error(error).relocated(placement.hosts.front().origin);
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
  const Domains domains = gpus_of_types(placement, cluster.nodes());
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
  const bool all_divide =
      std::ranges::all_of(domains, [&](const auto& gpus) { return gpus.size() % unit == 0; });
  if (placement.gpu_types.empty() && all_divide) return cluster.place({}, ranks.size());
  check_enough(placement, domains, cluster, ranks.size());
  return take(domains, whole_runs(domains, unit), ranks.size());
}

std::optional<std::vector<Host*>> place_within(const config::Scenario& scenario, const Ranks& ranks,
                                               const Domains& available) {
  const Domains domains = gpus_of_types(scenario.placement, available);
  const auto all_gpus = limited_counts(domains, largest_of(domains));
  if (sum(all_gpus) < ranks.size()) return std::nullopt;
  if (ranks.are_uneven())
    return take_by_device(
        domains, scenario.placement.domain ? scenario.placement.domain->value : largest_of(domains),
        ranks);
  if (const auto& domain_limit = scenario.placement.domain) {
    const auto counts = limited_counts(domains, domain_limit->value);
    return sum(counts) < ranks.size() ? std::nullopt
                                      : std::optional(take(domains, counts, ranks.size()));
  }
  const auto counts = whole_runs(domains, domains.size() > 1 ? unit_of(ranks, domains) : 1);
  return take(domains, sum(counts) < ranks.size() ? all_gpus : counts, ranks.size());
}

std::uint64_t usable_gpus(const config::Placement& placement, const Cluster& cluster) {
  check_types(placement, cluster);
  const Domains domains = gpus_of_types(placement, cluster.nodes());
  if (!placement.domain)
    return placement.gpu_types.empty() ? cluster.gpus().size()
                                       : sum(limited_counts(domains, largest_of(domains)));
  return sum(limited_counts(domains, placement.domain->value));
}

std::string Straddling::note() const {
  return groups.empty() ? ""
                        : fmt::format("groups of {} straddle NVLink domains; {}", groups, remedy);
}

Straddling straddling(const Ranks& ranks, const std::vector<Host*>& hosts, const Cluster& cluster) {
  const Domains& domains = cluster.nodes();
  if (domains.size() < 2) return {};
  const std::uint32_t largest = largest_of(domains);
  // Devices with different numbers of ranks: no limit of GPUs per domain can be suggested.
  const std::uint64_t unit = ranks.are_uneven() ? 1 : unit_of(ranks, domains);
  std::vector<std::string> groups;
  std::vector<std::string_view> fixable;
  for (const GroupKind& kind : layer_groups) {
    const std::uint32_t size = ranks.group_size(kind.group);
    const std::uint32_t run = ranks.run(kind.group);
    // Kinds that consist of the same ranks as another kind are skipped: cp_a2a may equal cp, and
    // etp may equal tp.
    const auto has_shape_of = [&](Group group) {
      return size == ranks.group_size(group) && run == ranks.run(group);
    };
    const bool is_duplicate = (kind.group == Group::cp_a2a && has_shape_of(Group::cp)) ||
                              (kind.group == Group::etp && has_shape_of(Group::tp));
    if (size == 1 || is_duplicate || run > largest) continue;
    if (std::ranges::none_of(ranks.groups(kind.group),
                             [&](const auto& group) { return straddles(group, hosts, cluster); }))
      continue;
    groups.push_back(fmt::format("{} ({} ranks)", kind.name, size));
    if (unit % run == 0 && !ranks.are_uneven()) fixable.emplace_back(kind.name);
  }
  if (groups.empty()) return {};
  const std::string fixable_text = fixable.size() == groups.size()
                                       ? "them"
                                       : fmt::format("groups of {}", fmt::join(fixable, " and "));
  return {fmt::format("{}", fmt::join(groups, " and ")),
          fixable.empty() ? fmt::format("no number of GPUs per domain keeps them whole and leaves "
                                        "enough for {} ranks in {} domains of {} GPUs; use more "
                                        "domains, or fewer replicas",
                                        ranks.size(), domains.size(), largest)
                          : fmt::format("placement.domain={} (GPUs used per domain) keeps {} whole",
                                        largest / unit * unit, fixable_text)};
}

}  // namespace pipewright::evaluation
