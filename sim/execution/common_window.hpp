#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipewright::execution {

// How far jobs that run at once have come. Their common window opens when each has ended its first
// iteration, and is over when each has ended `enough` more. Then jobs finish the iterations that
// some device has begun, and stop.
class CommonWindow {
 public:
  struct Member {
    double offset = 0;                // seconds at which the job starts
    std::uint32_t device_copies = 0;  // that have to end an iteration
  };
  CommonWindow(const std::vector<Member>& jobs, std::uint32_t enough);

  // A device copy of a job has ended an iteration, so many seconds after the job's start.
  void ended(std::size_t job, std::uint32_t iteration, double end);
  bool is_over() const { return is_over_; }
  // Whether a device of a job is to do passes of this iteration, which it then does.
  bool enter(std::size_t job, std::uint32_t iteration);

  // The ends of a job's iterations up to the end of the window, in seconds since its start.
  const std::vector<double>& ends(std::size_t job) const { return jobs_[job].ends; }
  // Its first iteration that ends when the window is open, if the window opens.
  std::size_t first(std::size_t job) const;
  bool is_open() const;

 private:
  struct Ending {
    std::uint32_t device_copies = 0;
    double end = 0;
  };
  struct Job {
    Member is;
    std::uint32_t entered = 0;    // the last iteration that a device has begun
    std::vector<Ending> endings;  // of iterations, by number
    std::vector<double> ends;
  };
  bool has_enough(std::size_t job) const;

  std::vector<Job> jobs_;
  std::uint32_t enough_;
  bool is_over_ = false;
};

// The same as one job's devices see it.
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
