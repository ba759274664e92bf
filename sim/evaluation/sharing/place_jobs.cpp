#include "sim/evaluation/sharing/place_jobs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/fields.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::evaluation {
namespace {

using cluster::Cluster;
using cluster::Host;
using Hosts = std::vector<Host*>;
using Domains = std::vector<Hosts>;

class Dealer {
 public:
  Dealer(std::span<const NamedScenario> jobs, const Cluster& cluster)
      : jobs_(jobs), cluster_(cluster), placed_(jobs.size()) {
    take_named();
  }

  std::vector<Hosts> side_by_side();
  std::vector<Hosts> interleaved();

 private:
  workload::Ranks ranks(std::size_t job) const {
    return workload::Ranks(jobs_[job].scenario.parallel);
  }
  void take_named();
  void take(std::size_t job, Hosts hosts);
  // Nodes of which no job has a GPU; or what is left of all of them.
  Domains whole_nodes() const;
  Domains left() const;
  std::size_t nodes_of(const Hosts& hosts) const;
  [[noreturn]] void refuse(std::size_t job, const std::string& remedy) const;

  std::span<const NamedScenario> jobs_;
  const Cluster& cluster_;
  std::vector<std::optional<Hosts>> placed_;
  std::map<const Host*, std::size_t> job_of_;
};

void Dealer::take_named() {
  for (std::size_t job = 0; job < jobs_.size(); ++job)
    if (!jobs_[job].scenario.placement.hosts.empty())
      take(job, place(jobs_[job].scenario, cluster_, ranks(job)));
}

void Dealer::take(std::size_t job, Hosts hosts) {
  for (const Host* host : hosts)
    if (const auto [place, is_new] = job_of_.emplace(host, job); !is_new)
      throw config::Error(
          fmt::format("{} and {} are both placed on host '{}'; each GPU has one job",
                      jobs_[place->second].name, jobs_[job].name, cluster::name_of(host)));
  placed_[job] = std::move(hosts);
}

Domains Dealer::whole_nodes() const {
  Domains whole;
  for (const Hosts& gpus : cluster_.nodes())
    if (std::ranges::none_of(gpus, [&](const Host* gpu) { return job_of_.contains(gpu); }))
      whole.push_back(gpus);
  return whole;
}

Domains Dealer::left() const {
  Domains rest;
  for (Hosts gpus : cluster_.nodes()) {
    std::erase_if(gpus, [&](const Host* gpu) { return job_of_.contains(gpu); });
    if (!gpus.empty()) rest.push_back(std::move(gpus));
  }
  return rest;
}

std::size_t Dealer::nodes_of(const Hosts& hosts) const {
  std::set<std::uint32_t> nodes;
  for (const Host* host : hosts) nodes.insert(cluster_.node_of(host));
  return nodes.size();
}

void Dealer::refuse(std::size_t job, const std::string& remedy) const {
  std::vector<std::string> before;
  std::size_t taken = 0;
  for (std::size_t other = 0; other < jobs_.size(); ++other) {
    if (!placed_[other]) continue;
    taken += placed_[other]->size();
    before.push_back(fmt::format("{} has {}", jobs_[other].name, placed_[other]->size()));
  }
  const std::size_t gpus = cluster_.gpus().size();
  throw config::Error(
      fmt::format("{} takes {} GPUs, and of the {} of {}{} {} are left; allowed: {}",
                  jobs_[job].name, ranks(job).size(), gpus, cluster_.name(),
                  before.empty() ? "" : fmt::format(", of which {},", fmt::join(before, " and ")),
                  gpus - taken, remedy));
}

std::vector<Hosts> Dealer::side_by_side() {
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (placed_[job]) continue;
    std::optional<Hosts> hosts = place_within(jobs_[job].scenario, ranks(job), whole_nodes());
    if (!hosts) hosts = place_within(jobs_[job].scenario, ranks(job), left());
    if (!hosts) refuse(job, "smaller jobs, or a larger cluster");
    take(job, std::move(*hosts));
  }
  std::vector<Hosts> all;
  for (const auto& hosts : placed_) all.push_back(*hosts);
  return all;
}

// Each job gets as many nodes as it has alone.
std::vector<Hosts> Dealer::interleaved() {
  const Domains nodes = whole_nodes();
  std::vector<std::size_t> wanted(jobs_.size());
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (placed_[job]) continue;
    const auto alone = place_within(jobs_[job].scenario, ranks(job), nodes);
    if (!alone) refuse(job, "smaller jobs, or a larger cluster");
    wanted[job] = nodes_of(*alone);
  }
  std::vector<Domains> dealt(jobs_.size());
  std::size_t next = 0;
  for (bool found = true; found && next < nodes.size();) {
    found = false;
    for (std::size_t job = 0; job < jobs_.size() && next < nodes.size(); ++job) {
      if (dealt[job].size() == wanted[job]) continue;
      dealt[job].push_back(nodes[next++]);
      found = true;
    }
  }
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (placed_[job]) continue;
    std::optional<Hosts> hosts = place_within(jobs_[job].scenario, ranks(job), dealt[job]);
    if (!hosts)
      refuse(job,
             "smaller jobs, a larger cluster, or --placing side-by-side, where jobs may share "
             "nodes");
    take(job, std::move(*hosts));
  }
  std::vector<Hosts> all;
  for (const auto& hosts : placed_) all.push_back(*hosts);
  return all;
}

}  // namespace

std::vector<Hosts> place_jobs(std::span<const NamedScenario> jobs, const Cluster& cluster,
                              Placing placing) {
  Dealer dealer(jobs, cluster);
  return placing == Placing::interleaved ? dealer.interleaved() : dealer.side_by_side();
}

}  // namespace pipewright::evaluation
