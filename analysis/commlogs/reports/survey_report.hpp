#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pipewright::analysis {

// What it costs that something fails, or runs slower.
struct Failure {
  std::string kind;     // "leaf-spine link", "switch"
  std::string name;     // "leaf-0-up"
  double seconds = 0;   // of what was asked
  std::string cut_off;  // why it could not be done at all
};
struct FailureSurvey {
  struct Kind {
    std::string kind;
    std::size_t all = 0;
    std::size_t tried = 0;
  };
  std::string cluster;
  std::string what;  // was asked: "all-reduce of 1.0 GiB over 32 ranks"
  double left = 0;   // of the rate of what fails
  double whole = 0;  // seconds with nothing failed
  std::vector<Kind> kinds;
  std::vector<Failure> failures;  // the worst first
};

// Times under hashes of so many seeds, ascending, with so many flows for each pair of GPUs.
struct HashedTimes {
  std::uint32_t flows = 1;
  std::vector<double> seconds;
};
struct HashSurvey {
  std::string cluster;
  std::string what;
  std::uint32_t seeds = 0;
  double spread = 0;  // seconds, with all flows spread evenly over equally short ways
  std::vector<HashedTimes> by_flows;
};

std::string survey_text(const FailureSurvey& survey);
std::string survey_json(const FailureSurvey& survey);
std::string survey_text(const HashSurvey& survey);
std::string survey_json(const HashSurvey& survey);

}  // namespace pipewright::analysis
