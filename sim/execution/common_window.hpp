#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipewright::execution {

// Progress of jobs that run at once. Their common window opens when every job has finished its
// first iteration, and closes when every job has finished `enough` more. After that jobs finish the
// iterations that any of their devices has begun, and stop.
class CommonWindow {
 public:
  struct Member {
    double offset = 0;  // start of the job, in seconds
    // Number of device copies of the job, all of which have to finish an iteration.
    std::uint32_t device_copies = 0;
  };
  CommonWindow(const std::vector<Member>& jobs, std::uint32_t enough);

  // Reports that a device copy of a job has finished an iteration, `end` seconds after the job's
  // start.
  void ended(std::size_t job, std::uint32_t iteration, double end);
  bool is_over() const { return is_over_; }
  // Returns whether a device of the job may begin this iteration. If so, all devices of the job
  // will run it.
  bool enter(std::size_t job, std::uint32_t iteration);

  // Times at which a job's iterations ended, up to the end of the window, in seconds since the
  // job's start.
  const std::vector<double>& ends(std::size_t job) const { return jobs_[job].ends; }
  // Index of the job's first iteration that ends after the window has opened. Requires is_open().
  std::size_t first(std::size_t job) const;
  bool is_open() const;

 private:
  struct Ending {
    std::uint32_t device_copies = 0;
    double end = 0;
  };
  struct Job {
    Member member;
    std::uint32_t entered = 0;    // last iteration that a device has begun
    std::vector<Ending> endings;  // by iteration
    std::vector<double> ends;
  };
  bool has_enough(std::size_t job) const;

  std::vector<Job> jobs_;
  std::uint32_t enough_;
  bool is_over_ = false;
};

// View of a CommonWindow for the devices of one job.
class IterationCount {
 public:
  IterationCount(CommonWindow& window, std::size_t job) : window_(window), job_(job) {}
  void ended(std::uint32_t iteration, double end) { window_.ended(job_, iteration, end); }
  bool enter(std::uint32_t iteration) { return window_.enter(job_, iteration); }

 private:
  CommonWindow& window_;
  std::size_t job_;
};

}  // namespace pipewright::execution
