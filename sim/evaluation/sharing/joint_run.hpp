#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/job.hpp"
#include "analysis/trace/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/sharing/place_jobs.hpp"
#include "sim/execution/together.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// Scenario as a tree of keys, with the name of its job in outputs.
struct NamedTree {
  std::string name;
  config::Value tree;
};

// Planned job with its GPUs, ready to run beside other jobs.
struct PlacedJob {
  PlacedJob(std::string name, const config::Value& tree, const cluster::Cluster& cluster);
  PlacedJob(const PlacedJob&) = delete;  // `job` refers to other members
  PlacedJob& operator=(const PlacedJob&) = delete;

  std::string name;
  config::Value tree;
  config::Scenario scenario;
  Hardware hardware;
  workload::Plan plan;
  execution::Job job;
  analysis::JobInfo info;
  // True if collectives inside passes use links that other jobs also use.
  bool in_passes = false;
};

// Simulates several scenarios on one cluster, each on its own GPUs. Collectives inside passes,
// which normally have a fixed duration, are simulated if they cross links that another job uses.
class JointRun {
 public:
  // Opens the common cluster, places the jobs and plans them. Throws config::Error, cluster::Error
  // and schedules::Error.
  JointRun(std::vector<NamedTree> jobs, Placing placing);

  std::size_t size() const { return jobs_.size(); }
  const PlacedJob& job(std::size_t number) const { return *jobs_[number]; }
  const cluster::Cluster& cluster() const { return jobs_.front()->hardware.cluster; }
  bool share_links() const { return share_links_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Iterations that each job should finish in the common window: the largest number in the
  // scenarios, at least three.
  std::uint32_t min_iterations() const { return min_iterations_; }

  // Sets the number of iterations that a job runs in all later simulations.
  void set_iterations(std::size_t number, std::uint32_t iterations);
  // Simulates the jobs with these indices, each starting at its offset in seconds. SimGrid's clock
  // continues from run to run, so bitwise equal results need a process for each run.
  execution::JointResult run(std::span<const std::size_t> jobs, const std::vector<double>& offsets,
                             const std::vector<trace::Sink*>& sinks,
                             std::uint32_t iterations) const;
  // Runs all jobs and returns one trace for each, whose rows cover whole iterations.
  std::vector<trace::Trace> traces(const std::vector<double>& offsets) const;

 private:
  void find_shared_links();

  std::vector<std::unique_ptr<PlacedJob>> jobs_;
  std::vector<std::string> notes_;
  std::uint32_t min_iterations_ = 3;
  bool share_links_ = false;
};

}  // namespace pipewright::evaluation
