#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/why/critical_path.hpp"

namespace pipewright::analysis {

// What part of the critical path something has.
struct PathShare {
  CriticalPart part = CriticalPart::other;
  trace::PassKind kind = trace::PassKind::forward;  // of compute
  std::string link_class;                           // of communication; empty: not known
  double seconds = 0;
  // By how much it took longer than alone on its way, where the trace knows that.
  std::optional<double> contention_s;
  std::uint64_t pieces = 0;
};

struct StageShare {
  std::uint32_t stage = 0;
  double seconds = 0;  // compute and collectives within its passes
};

struct PathSplit {
  std::vector<PathShare> parts;    // that took most first; their seconds sum up to the makespan
  std::vector<StageShare> stages;  // likewise
  double computing_s = 0;
  double communication_s = 0;  // collectives within passes, transfers, collectives, norm
  double optimizer_s = 0;
  double waiting_s = 0;  // rendezvous, other replicas, and what is not known
};

bool is_communication(CriticalPart part);

PathSplit split_path(const trace::Trace& trace, const std::vector<CriticalPiece>& path);

}  // namespace pipewright::analysis
