#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "sim/execution/job.hpp"

// Several jobs on one cluster, each on its own GPUs, whose flows share links.
namespace pipewright::execution {

struct JobStart {
  // Has more iterations than the run reaches.
  const Job& job;
  double offset = 0;  // start of the job, in seconds
  // Receives the job's rows, in seconds since its start.
  trace::Sink& sink;
  // Fields of the run that the caller knows.
  trace::RunInfo info;
};

// Traffic of each job on a link while the common window is open.
struct SharedLink {
  std::string name;
  std::string link_class;
  std::uint32_t alike = 1;    // links with the same load, including this one
  double bandwidth = 0;       // bytes/s
  std::vector<double> bytes;  // by job
  // Sum over flows of the seconds that each took longer than it would alone, by job.
  std::vector<double> waited;
};

struct JointResult {
  struct Times {
    // Ends of the iterations, in seconds since the job's start.
    std::vector<double> ends;
    // First iteration that ends inside the window; the last such iteration is the last of `ends`.
    std::size_t first = 0;
  };
  std::vector<Times> jobs;
  double window = 0;  // seconds
  // Links that carried bytes of two jobs or more, busiest first.
  std::vector<SharedLink> links;
};

// Runs all jobs until each has finished `enough` iterations in their common window (CommonWindow),
// or until a job has no iteration left. All jobs are on the same cluster. Throws
// schedules::Deadlock.
JointResult run_together(std::span<const JobStart> jobs, std::uint32_t enough);

// Reports the head of a job's rows, which is known before the job runs. finish() ends the rows.
void begin_rows(const Job& job, EngineKind engine, trace::RunInfo info, trace::Sink& sink);

// Links whose bandwidth the flows of a job share with other flows.
struct LinksOfJob {
  std::set<const cluster::Link*> in_passes;  // used by collectives inside passes
  std::set<const cluster::Link*> outside_passes;
};
LinksOfJob links_of(const Job& job);

}  // namespace pipewright::execution
