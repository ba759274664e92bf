#pragma once

#include <cstdint>
#include <queue>
#include <random>
#include <vector>

#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

struct Incident {
  enum class What : std::uint8_t { failure, straggler, corruption, planned };
  double at = 0;  // seconds
  What what = What::failure;
  const FailureKind* kind = nullptr;  // of a failure
  double lasts = 0;                   // of a straggler; of a corruption until it is found
};

// Random numbers that are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream);
  double uniform();  // above 0 and below 1
  double exponential(double mean) { return -mean * log_uniform(); }
  double weibull(double mean, double shape);
  // Until the next event of a process that has been going on for long: the rest of an interval
  // that is long as often as it is likely to be met (Cox 1962, Renewal theory, section 5.3).
  double weibull_rest(double mean, double shape);

 private:
  double log_uniform();
  double normal();
  double gamma(double shape);

  std::mt19937_64 engine_;
};

// What happens to a job, in order of time and without an end. It does not depend on what the job
// does about it: every kind has random numbers of its own, so that a seed has the same incidents
// whatever else of a setting is changed.
class Incidents {
 public:
  Incidents(const Setting& setting, std::uint64_t seed);

  double next() const {
    if (coming_.empty()) return never;
    return coming_.top().incident.at;
  }
  Incident take();  // the next

 private:
  struct Coming {
    Incident incident;
    std::size_t source;
    bool operator<(const Coming& other) const {  // the queue has the largest on top
      return incident.at != other.incident.at ? incident.at > other.incident.at
                                              : source > other.source;
    }
  };
  struct Source {
    Incident::What what;
    const FailureKind* kind;
    double mean;  // between events of one unit
    double shape;
    double lasts;
    Random random;
  };
  void add(Source source, std::uint32_t units);
  void add_trace(const Setting& setting, std::uint64_t seed);
  Incident make(Source& source, double at);

  double planned_every_;
  std::vector<Source> sources_;
  std::priority_queue<Coming> coming_;
};

}  // namespace pipewright::goodput
