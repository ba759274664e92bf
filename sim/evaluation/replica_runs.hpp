#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "analysis/report/why/why.hpp"
#include "analysis/trace/rows.hpp"
#include "sim/evaluation/stored_scenario.hpp"

namespace pipewright::evaluation {

// Simulates the scenario of a trace again, each time with the rows of another replica: the run
// itself, and its ideal run, in which there is no jitter and every device and every link is as fast
// as planned. Each simulation runs once, when it is needed, in a process of its own.
class ReplicaRuns {
 public:
  // `file` names the trace in messages. The trace must outlive this object.
  ReplicaRuns(const trace::Trace& trace, std::string file);

  // Functions that refer to this object.
  analysis::Reruns reruns();

 private:
  struct Key {
    std::uint32_t replica = 0;
    bool is_ideal = false;
    auto operator<=>(const Key&) const = default;
  };
  // Returns null if the simulation fails, or if a new simulation of the run takes another time than
  // the trace.
  const trace::Trace* find(const Key& key);
  std::unique_ptr<trace::Trace> simulate(const Key& key);

  const trace::Trace& trace_;
  std::string file_;
  std::optional<StoredScenario> stored_;
  std::map<Key, std::unique_ptr<trace::Trace>> traces_;
};

}  // namespace pipewright::evaluation
