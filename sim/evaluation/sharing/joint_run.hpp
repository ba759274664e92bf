#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/job.hpp"
#include "analysis/trace/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/sharing/place_jobs.hpp"
#include "sim/execution/together.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// A scenario as it was asked, under the name that outputs call it by.
struct NamedTree {
  std::string name;
  config::Value tree;
};

// A job that is ready to run beside others.
struct PlacedJob {
  PlacedJob(std::string name, const config::Value& tree, const cluster::Cluster& cluster);
  PlacedJob(const PlacedJob&) = delete;  // its job refers to its parts
  PlacedJob& operator=(const PlacedJob&) = delete;

  std::string name;
  config::Value tree;
  config::Scenario scenario;
  Hardware hardware;
  workload::Plan plan;
  execution::Job job;
  analysis::JobInfo info;
  bool in_passes = false;  // its collectives within passes meet others' traffic
};

// Scenarios on one cluster, each on GPUs of its own. What is priced alone as a rule, collectives
// within passes, is simulated where it crosses links that another job uses.
class JointRun {
 public:
  // Opens the cluster, which is the same for all, places, plans. Throws config::Error,
  // cluster::Error, schedules::Error.
  JointRun(std::vector<NamedTree> jobs, Placing placing);

  std::size_t size() const { return jobs_.size(); }
  const PlacedJob& job(std::size_t number) const { return *jobs_[number]; }
  const cluster::Cluster& cluster() const { return jobs_.front()->hardware.cluster; }
  bool share_links() const { return share_links_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Of the scenarios, the most iterations, and no less than three.
  std::uint32_t enough() const { return enough_; }

  // The job has so many iterations, in every run from now on.
  void set_iterations(std::size_t number, std::uint32_t iterations);
  // Runs these jobs, by number, from these offsets on. SimGrid's clock goes on from run to run: for
  // the same bits whatever ran before, in a process of its own.
  execution::JointResult run(std::span<const std::size_t> jobs, const std::vector<double>& offsets,
                             const std::vector<trace::Sink*>& sinks, std::uint32_t enough) const;
  // All of them, with the rows of whole iterations.
  std::vector<trace::Trace> traces(const std::vector<double>& offsets) const;

 private:
  void look_for_shared_links();

  std::vector<std::unique_ptr<PlacedJob>> jobs_;
  std::vector<std::string> notes_;
  std::uint32_t enough_ = 3;
  bool share_links_ = false;
};

}  // namespace pipewright::evaluation
