#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pipewright::analysis {

// Time of an operation after one link or switch has failed or slowed down.
struct Failure {
  std::string kind;     // "leaf-spine link", "switch"
  std::string name;     // "leaf-0-up"
  double seconds = 0;   // Time of the operation with this failure.
  std::string cut_off;  // Reason why the operation is impossible; empty if it is possible.
};
struct FailureSurvey {
  struct Kind {
    std::string kind;
    std::size_t all = 0;
    std::size_t tried = 0;
  };
  std::string cluster;
  std::string what;  // Operation in question: "all-reduce of 1.0 GiB over 32 ranks".
  double left = 0;   // Rate of a failed part, relative to its normal rate.
  double whole = 0;  // Time without failures, in seconds.
  std::vector<Kind> kinds;
  std::vector<Failure> failures;  // Ordered from the worst to the mildest.
};

// Times of an operation if each pair of GPUs has this number of flows, one time for each seed of
// the hash that chooses routes, in ascending order.
struct HashedTimes {
  std::uint32_t flows = 1;
  std::vector<double> seconds;
};
struct HashSurvey {
  std::string cluster;
  std::string what;
  std::uint32_t seeds = 0;
  double spread = 0;  // Time with adaptive routing over equally short routes, in seconds.
  std::vector<HashedTimes> by_flows;
};

std::string survey_text(const FailureSurvey& survey);
std::string survey_json(const FailureSurvey& survey);
std::string survey_text(const HashSurvey& survey);
std::string survey_json(const HashSurvey& survey);

}  // namespace pipewright::analysis
