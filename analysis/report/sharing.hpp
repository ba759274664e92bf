#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Several jobs on one cluster: how much slower each gets because of the others.
namespace pipewright::analysis {

struct SharingJob {
  std::string name;
  std::string job;  // one line: model, layout, recipe; empty without a model
  std::uint32_t gpus = 0;
  std::uint32_t nodes = 0;
  std::string first_host;
  std::string last_host;
  double iteration_s = 0;  // alone on the same GPUs, one iteration after the other
  bool in_passes = false;  // its collectives within passes meet others, and were simulated
  // Of the device that fills most of what it has.
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t memory_capacity_bytes = 0;  // 0: unknown
};

struct JobInPhase {
  double offset_s = 0;           // it starts so much after the first job
  double iteration_s = 0;        // the mean of those that ended while all jobs ran
  double alone_s = 0;            // of the same iterations when nothing else runs
  std::uint64_t iterations = 0;  // that these are

  double slow_down() const { return iteration_s / alone_s; }
};

// A link that carried bytes of two jobs or more, while all of them ran.
struct ContendedLink {
  std::string name;
  std::string link_class;
  std::uint32_t alike = 1;        // links that fare as this one, itself included
  double bandwidth = 0;           // bytes/s
  std::vector<double> use;        // of its bandwidth, by job
  std::vector<double> waiting_s;  // of an iteration: by which the job's flows took longer there

  double all_use() const;
};

struct SharingPhase {
  double share = 0;     // of the first job's iteration, by which the second starts later
  double window_s = 0;  // in which all ran
  std::vector<JobInPhase> jobs;
  std::vector<ContendedLink> links;  // the busiest first

  double mean_slow_down() const;  // over jobs
};

struct Sharing {
  std::string cluster;
  std::uint32_t cluster_gpus = 0;
  std::string placing;  // "side by side", "interleaved"
  std::vector<SharingJob> jobs;
  bool share_links = false;          // some way of one job meets one of another
  std::vector<SharingPhase> phases;  // none where they share no links

  // Those in which jobs are slowed down most and least, in the mean over jobs.
  const SharingPhase& worst() const;
  const SharingPhase& best() const;
};

std::string sharing_text(const Sharing& sharing);
std::string sharing_json(const Sharing& sharing);

}  // namespace pipewright::analysis
