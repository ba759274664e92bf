#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// The Pareto front of seconds per token (or sample) against memory, built point by point.
class Front {
 public:
  // Returns true if the front has a point that is better in one quantity and not worse in the other
  // than any point with at least these values.
  bool dominates(std::uint64_t peak_bytes, double seconds) const;
  void add(std::uint64_t peak_bytes, double seconds);

 private:
  std::map<std::uint64_t, double> seconds_by_bytes_;  // strictly decreasing
};

// Returns the simulated rows of a group that no other row dominates, in order of memory. The first
// of several equal rows represents them.
std::vector<std::size_t> pareto_front(const SearchRun& run, std::uint32_t group);

// Returns true if two candidates have the same work, time, memory and lost time. They then usually
// differ only in a setting without effect.
bool are_equivalent(const CandidateRow& lhs, const CandidateRow& rhs);

// Returns the simulated rows, ordered by cost, then memory, then number.
std::vector<std::size_t> ranking(const SearchRun& run);

}  // namespace pipewright::analysis
