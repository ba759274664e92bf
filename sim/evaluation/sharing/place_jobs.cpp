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

class JobPlacer {
 public:
  JobPlacer(std::span<const NamedScenario> jobs, const Cluster& cluster)
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
  // Nodes none of whose GPUs is taken; and the free GPUs of all nodes.
  Domains whole_nodes() const;
  Domains remaining_gpus() const;
  std::size_t nodes_of(const Hosts& hosts) const;
  [[noreturn]] void refuse(std::size_t job, const std::string& remedy) const;

  std::span<const NamedScenario> jobs_;
  const Cluster& cluster_;
  std::vector<std::optional<Hosts>> placed_;
  std::map<const Host*, std::size_t> job_by_host_;
};

void JobPlacer::take_named() {
  for (std::size_t job = 0; job < jobs_.size(); ++job)
    if (!jobs_[job].scenario.placement.hosts.empty())
      take(job, place(jobs_[job].scenario, cluster_, ranks(job)));
}

void JobPlacer::take(std::size_t job, Hosts hosts) {
  for (const Host* host : hosts)
    if (const auto [it, is_new] = job_by_host_.emplace(host, job); !is_new)
      throw config::Error(fmt::format("{} and {} are both placed on host '{}'; a GPU runs one job",
                                      jobs_[it->second].name, jobs_[job].name,
                                      cluster::name_of(host)));
  placed_[job] = std::move(hosts);
}

Domains JobPlacer::whole_nodes() const {
  Domains whole;
  for (const Hosts& gpus : cluster_.nodes())
    if (std::ranges::none_of(gpus, [&](const Host* gpu) { return job_by_host_.contains(gpu); }))
      whole.push_back(gpus);
  return whole;
}

Domains JobPlacer::remaining_gpus() const {
  Domains remaining;
  for (Hosts gpus : cluster_.nodes()) {
    std::erase_if(gpus, [&](const Host* gpu) { return job_by_host_.contains(gpu); });
    if (!gpus.empty()) remaining.push_back(std::move(gpus));
  }
  return remaining;
}

std::size_t JobPlacer::nodes_of(const Hosts& hosts) const {
  std::set<std::uint32_t> nodes;
  for (const Host* host : hosts) nodes.insert(cluster_.node_of(host));
  return nodes.size();
}

void JobPlacer::refuse(std::size_t job, const std::string& remedy) const {
  std::vector<std::string> placed_jobs;
  std::size_t taken = 0;
  for (std::size_t job_index = 0; job_index < jobs_.size(); ++job_index) {
    if (!placed_[job_index]) continue;
    taken += placed_[job_index]->size();
    placed_jobs.push_back(
        fmt::format("{} has {}", jobs_[job_index].name, placed_[job_index]->size()));
  }
  const std::size_t gpus = cluster_.gpus().size();
  throw config::Error(
      fmt::format("{} takes {} GPUs, but {} of the {} GPUs of {} are left{}", jobs_[job].name,
                  ranks(job).size(), gpus - taken, gpus, cluster_.name(),
                  placed_jobs.empty() ? "" : fmt::format(" ({})", fmt::join(placed_jobs, ", "))))
      .allow(remedy);
}

std::vector<Hosts> JobPlacer::side_by_side() {
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (placed_[job]) continue;
    std::optional<Hosts> hosts = place_within(jobs_[job].scenario, ranks(job), whole_nodes());
    if (!hosts) hosts = place_within(jobs_[job].scenario, ranks(job), remaining_gpus());
    if (!hosts) refuse(job, "smaller jobs, or a larger cluster");
    take(job, std::move(*hosts));
  }
  std::vector<Hosts> hosts_by_job;
  for (const auto& hosts : placed_) hosts_by_job.push_back(*hosts);
  return hosts_by_job;
}

// Each job takes as many nodes as if it ran alone.
std::vector<Hosts> JobPlacer::interleaved() {
  const Domains nodes = whole_nodes();
  std::vector<std::size_t> node_counts(jobs_.size());
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (placed_[job]) continue;
    const auto alone = place_within(jobs_[job].scenario, ranks(job), nodes);
    if (!alone) refuse(job, "smaller jobs, or a larger cluster");
    node_counts[job] = nodes_of(*alone);
  }
  std::vector<Domains> assigned(jobs_.size());
  std::size_t next = 0;
  for (bool is_assigned = true; is_assigned && next < nodes.size();) {
    is_assigned = false;
    for (std::size_t job = 0; job < jobs_.size() && next < nodes.size(); ++job) {
      if (assigned[job].size() == node_counts[job]) continue;
      assigned[job].push_back(nodes[next++]);
      is_assigned = true;
    }
  }
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (placed_[job]) continue;
    std::optional<Hosts> hosts = place_within(jobs_[job].scenario, ranks(job), assigned[job]);
    if (!hosts)
      refuse(job,
             "smaller jobs, a larger cluster, or --placing side-by-side, where jobs may share "
             "nodes");
    take(job, std::move(*hosts));
  }
  std::vector<Hosts> hosts_by_job;
  for (const auto& hosts : placed_) hosts_by_job.push_back(*hosts);
  return hosts_by_job;
}

}  // namespace

std::vector<Hosts> place_jobs(std::span<const NamedScenario> jobs, const Cluster& cluster,
                              Placing placing) {
  JobPlacer placer(jobs, cluster);
  return placing == Placing::interleaved ? placer.interleaved() : placer.side_by_side();
}

}  // namespace pipewright::evaluation
