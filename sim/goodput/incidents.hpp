#pragma once

#include <cstdint>
#include <queue>
#include <random>
#include <vector>

#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// Event that disturbs a job: a failure, a slow node, data corruption or a planned stop.
struct Incident {
  enum class Type : std::uint8_t { failure, straggler, corruption, planned };
  double at = 0;  // In seconds from the start of training.
  Type type = Type::failure;
  const FailureKind* kind = nullptr;  // For failures only.
  double lasts =
      0;  // Duration of a straggler, or of a corruption until it is detected, in seconds.
};

// Random number generator whose results do not depend on the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream);
  double uniform();  // Between 0 and 1, both excluded.
  double exponential(double mean) { return -mean * log_uniform(); }
  double weibull(double mean, double shape);
  // Time until the next event of a stationary renewal process, observed from a random moment: the
  // rest of an interval chosen with a probability proportional to its length (Cox 1962, Renewal
  // theory, section 5.3).
  double weibull_rest(double mean, double shape);

 private:
  double log_uniform();
  double normal();
  double gamma(double shape);

  std::mt19937_64 engine_;
};

// Endless sequence of a job's incidents in order of time. It does not depend on how the job reacts:
// every kind of incident has its own random numbers, so a seed has the same incidents whatever else
// changes in a setting.
class Incidents {
 public:
  Incidents(const Setting& setting, std::uint64_t seed);

  double next() const {
    if (upcoming_.empty()) return never;
    return upcoming_.top().incident.at;
  }
  // Removes and returns the next incident.
  Incident take();

 private:
  struct Upcoming {
    Incident incident;
    std::size_t source;
    // Reversed order, so that a priority queue has the earliest incident on top.
    bool operator<(const Upcoming& rhs) const {
      return incident.at != rhs.incident.at ? incident.at > rhs.incident.at : source > rhs.source;
    }
  };
  struct Source {
    Incident::Type type;
    const FailureKind* kind;
    double mean;  // Time between events of one unit.
    double shape;
    double lasts;
    Random random;
  };
  void add(Source source, std::uint32_t units);
  void add_trace(const Setting& setting, std::uint64_t seed);
  Incident make(Source& source, double at);

  double planned_every_;
  std::vector<Source> sources_;
  std::priority_queue<Upcoming> upcoming_;
};

}  // namespace pipewright::goodput
