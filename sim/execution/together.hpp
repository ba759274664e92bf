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
  // Job with enough iterations for the whole simulation, so that it does not end early.
  const Job& job;
  double offset = 0;  // start of the job, in seconds
  // Sink that receives the job's trace rows. Times are in seconds since the job's start.
  trace::Sink& sink;
  // Fields of the run's description that the engine does not fill in.
  trace::RunInfo info;
};

// Traffic of each job on a link while the common window is open.
struct SharedLink {
  std::string name;
  std::string link_class;
  std::uint32_t alike = 1;    // links with the same load, including this one
  double bandwidth = 0;       // bytes/s
  std::vector<double> bytes;  // by job
  // Seconds by which flows took longer than they would alone: the sum over each job's flows.
  std::vector<double> waited;
};

struct JointResult {
  struct Times {
    // Time at which each iteration ended, in seconds since the job's start.
    std::vector<double> ends;
    // Index of the first iteration that ends inside the window; the last such iteration is the last
    // of `ends`.
    std::size_t first = 0;
  };
  std::vector<Times> jobs;
  double window = 0;  // seconds for which the common window is open
  // Links that carried bytes of two jobs or more, busiest first.
  std::vector<SharedLink> links;
};

// Runs all jobs until each has finished `enough` iterations in their common window (CommonWindow),
// or until a job has no iteration left. All jobs are on the same cluster. Throws
// schedules::Deadlock.
JointResult run_together(std::span<const JobStart> jobs, std::uint32_t enough);

// Reports the rows of a job that do not depend on its simulation: its description, devices and
// stages. finish() ends the rows.
void begin_rows(const Job& job, EngineKind engine, trace::RunInfo info, trace::Sink& sink);

// Shared links that a job's flows cross, where they may compete with flows of other jobs.
struct LinksOfJob {
  std::set<const cluster::Link*> in_passes;  // used by collectives inside passes
  std::set<const cluster::Link*> outside_passes;
};
LinksOfJob links_of(const Job& job);

}  // namespace pipewright::execution
