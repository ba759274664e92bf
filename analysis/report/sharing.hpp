#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Results of several jobs that run on one cluster at once: how much each slows down the others.
namespace pipewright::analysis {

struct SharingJob {
  std::string name;
  std::string job;  // Model, layout and recipe in one line; empty without a model.
  std::uint32_t gpus = 0;
  std::uint32_t nodes = 0;
  std::string first_host;
  std::string last_host;
  double iteration_s = 0;  // Iteration time without other jobs, on the same GPUs, in steady state.
  bool in_passes = false;  // Collectives within its passes meet other traffic and are simulated.
  // Peak memory and capacity of the job's device that fills the largest share of its capacity.
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t memory_capacity_bytes = 0;  // 0 if unknown.
};

// Iteration times of one job, with and without the other jobs, in one phase (see SharingPhase).
struct JobInPhase {
  double offset_s = 0;     // Seconds from the start of the first job to the start of this one.
  double iteration_s = 0;  // Mean time of the iterations that end while all jobs run.
  double alone_s = 0;      // Mean time of these iterations without other jobs.
  std::uint64_t iterations = 0;  // Number of these iterations.

  double slow_down() const { return iteration_s / alone_s; }
};

// A link that carries traffic of at least two jobs while all jobs run.
struct ContendedLink {
  std::string name;
  std::string link_class;
  std::uint32_t alike = 1;        // Number of links with the same traffic, including this one.
  double bandwidth = 0;           // In bytes/s.
  std::vector<double> use;        // Used part of the bandwidth, by job.
  std::vector<double> waiting_s;  // By job, delay of its flows at this link per iteration.

  double total_use() const;
};

// Results for one choice of the jobs' start times relative to each other.
struct SharingPhase {
  double share = 0;     // Start of the second job, in iterations of the first.
  double window_s = 0;  // Time in which all jobs run.
  std::vector<JobInPhase> jobs;
  std::vector<ContendedLink> links;  // The busiest first.

  double mean_slow_down() const;  // Mean over jobs.
};

// Results of simulating several jobs on one cluster, for several phases.
struct Sharing {
  std::string cluster;
  std::uint32_t cluster_gpus = 0;
  std::string placing;  // "side by side", "interleaved".
  std::vector<SharingJob> jobs;
  bool share_links = false;          // Routes of different jobs share links.
  std::vector<SharingPhase> phases;  // Empty if the jobs share no links.

  // Return the phase in which the mean slow-down over jobs is the largest, or the smallest.
  const SharingPhase& worst() const;
  const SharingPhase& best() const;
};

std::string sharing_text(const Sharing& sharing);
std::string sharing_json(const Sharing& sharing);

}  // namespace pipewright::analysis
