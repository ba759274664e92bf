#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// The Pareto front of seconds per token (or sample) against memory, as points come.
class Front {
 public:
  // Whether a point that takes at least so much would be worse than one that is there: not better
  // in either, and worse in one.
  bool dominates(std::uint64_t peak_bytes, double seconds) const;
  void add(std::uint64_t peak_bytes, double seconds);

 private:
  std::map<std::uint64_t, double> least_;  // seconds by bytes, both strictly monotonic
};

// Of the simulated rows of a group, those that none is better than, by memory; equal ones: the
// first.
std::vector<std::size_t> pareto_front(const SearchRun& run, std::uint32_t group);

// Whether two take the same time for the same work, and the same memory, and lose the same part of
// weeks: as a rule because of an axis that changes nothing.
bool are_twins(const CandidateRow& one, const CandidateRow& other);

// Simulated rows by cost, then memory, then number.
std::vector<std::size_t> ranking(const SearchRun& run);

}  // namespace pipewright::analysis
