#pragma once

// How ranks pass their time, in seconds.
namespace pipewright::mpi {

// MPI has no wait that leaves the core to others, so one looks and sleeps in turn: first for
// microseconds, since an answer to what was just said comes soon, then longer and longer.
class Nap {
 public:
  explicit Nap(double longest) : longest_(longest) {}
  double next();  // how long to sleep now
  void reset() { length_ = shortest; }

 private:
  static constexpr double shortest = 20e-6;
  double length_ = shortest;
  double longest_;
};

void sleep_for(double seconds);

// A clock that stands still while its owner does not look: whoever was stopped or had other work
// must not hold the others for silent, whose messages wait for it.
class ListeningClock {
 public:
  ListeningClock();
  double now();

 private:
  double last_;
  double listened_ = 0;
};

double steady_now();

}  // namespace pipewright::mpi
