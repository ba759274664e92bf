#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/search/rows.hpp"

// Conclusions that are drawn from the rows of a search; text, JSON and the page show them.
namespace pipewright::analysis {

using OutcomeCounts = std::array<std::uint64_t, 6>;  // by Outcome

// A reason why candidates were rejected, with the number of rows that give it. Notes of rows count
// as the same reason if they differ only in numbers, or in a list after its first element.
struct Reason {
  std::uint64_t rows = 0;
  std::size_t example = 0;  // the first row with such a note
};

// Words in the note of a candidate that its software stack refuses.
inline constexpr std::string_view refusal_words = "refuses this job";
inline constexpr std::string_view refusal_hint = "search.rules: off lifts the rules of the stack";

struct Findings {
  OutcomeCounts outcomes{};
  bool has_refusals = false;        // the stack refuses some of the illegal rows
  double not_looked_at = 0;         // combinations that are neither excluded nor examined
  std::vector<std::size_t> ranked;  // simulated rows, best first
  std::optional<std::size_t> best;  // best row that reaches the objective
  // Rows on the Pareto front, for each group; empty if the search does not prove fronts.
  std::vector<std::vector<std::size_t>> fronts;
  std::vector<std::optional<std::size_t>> best_of_group;
  // Reasons for each outcome, the most frequent first.
  std::vector<Reason> illegal;
  std::vector<Reason> does_not_fit;
  std::vector<Reason> failed;
  std::optional<std::size_t> nearest;          // row that misses its capacity by the least
  std::vector<std::size_t> failed_contenders;  // failed rows whose bounds are better than the best
};
Findings find(const SearchRun& run);

// The best candidate with one value of an axis. The search proves only the best of all candidates:
// the value may have no simulated candidate, or a candidate that was bounded away may be better.
struct BestForValue {
  std::uint32_t value = 0;  // index of the value on its axis
  OutcomeCounts outcomes{};
  std::optional<std::size_t> row;    // best simulated row
  std::optional<std::size_t> bound;  // unsimulated row with the best bound, if better than `row`
};
std::vector<BestForValue> best_by(const SearchRun& run, std::size_t axis);

// Returns the known numbers of GPUs of candidates, in ascending order.
std::vector<std::uint64_t> gpu_counts(const SearchRun& run);
// Returns the best candidate for each number of GPUs; `value` is an index in gpu_counts().
std::vector<BestForValue> best_by_gpus(const SearchRun& run);

// Return the cost and the iteration time of a candidate: simulated values, or lower bounds if it
// was not simulated.
double cost_of(const SearchRun& run, const CandidateRow& row);
double seconds_of(const CandidateRow& row);

// Returns by how much a cost is worse than the best cost, relative to the best: the loss of
// throughput or MFU, or the additional time, money or memory.
double relative_loss(const Objective& objective, double cost, double best);

// Name under which reports show a part of the iteration time.
struct TimePartName {
  const char* text;
  double TimeParts::*part;
};
inline constexpr std::array<TimePartName, 7> time_part_names{
    {{"compute", &TimeParts::compute},
     {"collectives in passes", &TimeParts::in_passes},
     {"p2p", &TimeParts::p2p},
     {"gradients", &TimeParts::gradients},
     {"weights", &TimeParts::weights},
     {"optimizer", &TimeParts::optimizer},
     {"bubble", &TimeParts::idle}}};

// Differences of a simulated row from a better row, for the work of one iteration of the better
// row. If the numbers of GPUs differ, seconds are GPU-seconds divided by the number of GPUs of the
// better row, since half the GPUs take twice as long for a reason that explains nothing.
struct Comparison {
  struct Part {
    std::size_t part = 0;  // index in time_part_names
    double seconds = 0;    // additional seconds of the worse row
  };
  struct Axis {
    std::size_t axis = 0;
    std::string better;
    std::string worse;
  };
  std::size_t better = 0;       // row
  std::size_t worse = 0;        // row
  double behind = 0;            // relative loss in the objective
  double seconds = 0;           // additional seconds of the worse row
  bool is_of_gpu_time = false;  // whether seconds are GPU-seconds
  double iteration_s = 0;       // iteration time of the better row
  double bytes = 0;             // additional peak memory of the worse row
  std::vector<Part> parts;      // parts that differ, largest difference first
  std::vector<Axis> axes;       // axes that differ
  std::size_t equivalents = 0;  // candidates that are equivalent to the better row
};
Comparison compare_rows(const SearchRun& run, std::size_t better, std::size_t worse);
// Compares two rows by their iteration times, even if their numbers of GPUs differ.
Comparison compare_wall_time(const SearchRun& run, std::size_t better, std::size_t worse);

// Compares the best row with the second best. Rows that are equivalent to the best are skipped,
// unless there are no others.
std::optional<Comparison> runner_up(const SearchRun& run, const Findings& findings);

// Returns the differences by part, relative to the iteration time of the better row: "+3.1 %
// bubble, +1.0 % gradients". Differences that round to 0.0 % are omitted.
std::string parts_text(const Comparison& comparison);

// Returns the axes that differ: "tp 8 (best: 4), schedule 1f1b (best: zb-1p)".
std::string axes_text(const SearchRun& run, const Comparison& comparison);

}  // namespace pipewright::analysis
