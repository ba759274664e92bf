#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/search/rows.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/search/space.hpp"

namespace pipewright::cli {

// Evaluates candidates of a space that are on one cluster. Whatever goes wrong with one is a row.
class CandidateEvaluator {
 public:
  // Simulations are given up once `parent`, a pipe, is closed at its other end. `time_limit` in
  // seconds; 0: none.
  CandidateEvaluator(const search::Space& space, double time_limit, int parent);

  std::vector<analysis::CandidateRow> assess(std::span<const std::uint64_t> candidates);
  std::optional<analysis::CandidateRow> simulate(std::uint64_t candidate);  // in a child

 private:
  evaluation::Evaluator& evaluator(const config::Value& scenario);
  std::vector<analysis::CandidateRow> assess_layout(std::span<const std::uint64_t> candidates);
  analysis::CandidateRow row_of(std::uint64_t candidate, analysis::Outcome outcome,
                                const std::string& note) const;

  const search::Space& space_;
  double time_limit_;
  int parent_;
  std::unique_ptr<evaluation::Evaluator> evaluator_;
};

}  // namespace pipewright::cli
