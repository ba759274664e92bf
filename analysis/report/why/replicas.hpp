#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "analysis/report/why/trace_index.hpp"

namespace pipewright::analysis {

// Returns the trace that describes one replica of a run; null if there is none. The trace must
// outlive its users.
using FindTrace = std::function<const trace::Trace*(std::uint32_t replica)>;

// Traces of one run, each of which describes another replica. They are indexed when they are
// needed.
class Replicas {
 public:
  // The rows of `first` describe replica 0. Without `find`, the other replicas have no trace.
  explicit Replicas(const TraceIndex& first, FindTrace find = {})
      : first_(first), find_(std::move(find)) {}

  const TraceIndex& first() const { return first_; }
  // Index of a replica's trace; null if the replica has none.
  const TraceIndex* find(std::uint32_t replica);

 private:
  const TraceIndex& first_;
  FindTrace find_;
  std::map<std::uint32_t, TraceIndex> indices_;
};

inline const TraceIndex* Replicas::find(std::uint32_t replica) {
  if (replica == 0) return &first_;
  const auto known_index = indices_.find(replica);
  if (known_index != indices_.end()) return &known_index->second;
  const trace::Trace* const trace = find_ ? find_(replica) : nullptr;
  return trace == nullptr ? nullptr : &indices_.try_emplace(replica, *trace).first->second;
}

}  // namespace pipewright::analysis
