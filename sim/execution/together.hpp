#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "sim/execution/job.hpp"

// Several jobs on one cluster, each on GPUs of its own, whose flows share links.
namespace pipewright::execution {

struct JobStart {
  const Job& job;       // of more iterations than it gets to
  double offset = 0;    // seconds at which it starts
  trace::Sink& sink;    // gets its rows, in seconds since its start
  trace::RunInfo info;  // what the caller knows of it
};

// What each job did on a link while the common window was open.
struct SharedLink {
  std::string name;
  std::string link_class;
  std::uint32_t alike = 1;  // links that fare as this one, itself included
  double bandwidth = 0;     // bytes/s
  std::vector<double> bytes;
  std::vector<double> waited;  // flow seconds by which flows took longer than alone on their way
};

struct Together {
  struct Times {
    std::vector<double> ends;  // of iterations, seconds since the job's start
    std::size_t first = 0;     // that ended when the window was open; the last is the last of all
  };
  std::vector<Times> jobs;
  double window = 0;              // seconds
  std::vector<SharedLink> links;  // that carried bytes of two jobs or more, the busiest first
};

// Runs all until each has ended `enough` iterations in their common window (CommonWindow), or until
// one has no iteration left. They are on the same cluster. Throws schedules::Deadlock.
Together run_together(std::span<const JobStart> jobs, std::uint32_t enough);

// The head of a job's rows: what is known before it runs. They end with finish().
void begin_rows(const Job& job, EngineKind engine, trace::RunInfo info, trace::Sink& sink);

// The links whose bandwidth a job's flows share with others.
struct LinksOfJob {
  std::set<const cluster::Link*> in_passes;  // of its collectives within passes
  std::set<const cluster::Link*> other;
};
LinksOfJob links_of(const Job& job);

}  // namespace pipewright::execution
