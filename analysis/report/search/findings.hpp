#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"

// What the rows of a search say when taken together: worked out once, for every output.
namespace pipewright::analysis {

using OutcomeCounts = std::array<std::uint64_t, 6>;  // by Outcome

// Notes that differ only in their numbers, or in all but the first of a list at the end.
struct Reason {
  std::uint64_t rows = 0;
  std::size_t example = 0;  // a row with such a note
};

struct Findings {
  OutcomeCounts outcomes{};
  double not_looked_at = 0;         // combinations without a row that no rule cuts away
  std::vector<std::size_t> ranked;  // simulated rows, best first
  std::optional<std::size_t> best;  // that reaches the objective
  // By group; empty where they were not to be proven, as they would lack points.
  std::vector<std::vector<std::size_t>> fronts;
  std::vector<std::optional<std::size_t>> best_of_group;
  std::vector<Reason> illegal;  // most common first, as all here
  std::vector<Reason> does_not_fit;
  std::vector<Reason> failed;
  std::optional<std::size_t> nearest;     // to fitting, of those that do not
  std::vector<std::size_t> failed_hopes;  // whose bounds are better than the best
};
Findings find(const SearchRun& run);

// The best with one value of an axis. Where it was not needed to know it, no simulated one may be
// there, or one that was bounded away may be better.
struct BestOf {
  std::uint32_t value = 0;  // of the axis
  OutcomeCounts outcomes{};
  std::optional<std::size_t> row;    // the best that was simulated
  std::optional<std::size_t> bound;  // the best bound of the others that fit, if better than that
};
std::vector<BestOf> best_by(const SearchRun& run, std::size_t axis);

// The numbers of GPUs that candidates use, as far as they are known, and the best of each; `value`
// is a place among these.
std::vector<std::uint64_t> gpu_numbers(const SearchRun& run);
std::vector<BestOf> best_by_gpus(const SearchRun& run);

// By its simulated time if it has one, else by its bound.
double cost_of(const SearchRun& run, const CandidateRow& row);
double seconds_of(const CandidateRow& row);

// How much worse a cost is than the best one: by how much less throughput or MFU it gives, as a
// part of the best's; or how much more time, money or memory it takes.
double behind(const Objective& objective, double cost, double best);

struct PartWords {
  const char* words;
  double TimeParts::*part;
};
inline constexpr std::array<PartWords, 7> part_words{
    {{"compute", &TimeParts::compute},
     {"collectives in passes", &TimeParts::in_passes},
     {"p2p", &TimeParts::p2p},
     {"gradients", &TimeParts::gradients},
     {"weights", &TimeParts::weights},
     {"optimizer", &TimeParts::optimizer},
     {"bubble", &TimeParts::idle}}};

// Why one simulated row is worse than another: both for the same work, that of an iteration of the
// better one. Where they have unlike numbers of GPUs, seconds are GPU-seconds over the number of
// the better one: half the GPUs take twice as long, which says nothing about either.
struct Comparison {
  struct Part {
    std::size_t part = 0;  // of part_words
    double seconds = 0;    // more than the better one
  };
  struct Axis {
    std::size_t axis = 0;
    std::string better;
    std::string worse;
  };
  std::size_t better = 0;  // rows
  std::size_t worse = 0;
  double behind = 0;  // in the objective, as a part
  double seconds = 0;
  bool is_of_gpu_time = false;  // as the numbers of GPUs differ
  double iteration_s = 0;       // of the better one
  double bytes = 0;             // more at the peak
  std::vector<Part> parts;      // all that differ, the largest difference first
  std::vector<Axis> axes;
  std::size_t twins = 0;  // of the better one: the same time and memory
};
Comparison compare_rows(const SearchRun& run, std::size_t better, std::size_t worse);
// The same in seconds of the clock, whatever the numbers of GPUs.
Comparison compare_wall_time(const SearchRun& run, std::size_t better, std::size_t worse);

// The best of those that differ from the first in time or memory, against it; where none does, one
// that is as good.
std::optional<Comparison> runner_up(const SearchRun& run, const Findings& findings);

// "+3.1 % bubble, +1.0 % gradients, -0.4 % collectives in passes", of the iteration; differences
// that round to nothing are left out.
std::string parts_text(const Comparison& comparison);

// "tp 8 for 4, schedule 1f1b for zb-1p": what the worse one has for what the better one has.
std::string axes_text(const SearchRun& run, const Comparison& comparison);

}  // namespace pipewright::analysis
