#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/answer_report.hpp"
#include "analysis/report/search/rows.hpp"

// Robustness of the winner of a search under conditions that differ from the planned ones.
namespace pipewright::analysis {

// Random conditions under which all compared candidates are simulated once, so that their times can
// be compared in pairs.
struct Draw {
  std::map<std::string, double> bandwidth;  // factor of the bandwidth, by class of links
  double latency = 1;                       // factor of the latency of all routes
  double jitter = 0;       // standard deviation of a pass time, relative to its mean
  std::uint32_t seed = 1;  // seed of the jitter
  double slow_gpu = 0;     // position of the slow GPU among the GPUs of the job, from 0 to 1
  double slow_factor = 1;  // factor of the pass times on the slow GPU
};

// Settings from which the random draws are made.
struct DrawSettings {
  std::uint32_t draws = 32;
  std::uint32_t seed = 1;
  double jitter = 0.02;
  double network = 0.2;      // factors of bandwidths and latencies are within 1 -+ this
  double slow = 0.1;         // largest relative slowdown of a slow GPU
  double slow_chance = 0.5;  // probability that a draw has a slow GPU
};

struct RobustRow {
  std::size_t row = 0;              // row of the search
  std::vector<double> seconds;      // iteration time by draw; 0: the simulation failed
  std::vector<double> own_error;    // by draw: factor of the model's error for this layout alone
  std::vector<double> whole_error;  // by draw: factor of the model's error for all layouts
};

// A change of one parameter of the cluster by which another candidate becomes the best. `factor`
// and `value` are the change closest to the planned value that suffices.
struct Perturbation {
  std::string parameter;     // "bandwidth of nic"
  bool is_decrease = false;  // another candidate wins below the threshold, not above it
  double factor = 1;         // threshold, relative to the planned value
  double value = 0;          // threshold in bytes/s or bytes; 0: only the factor is known
  std::size_t row = 0;       // row of the new winner
  double lead = 0;           // relative lead of the new winner at `far_factor`
  double far_factor = 1;     // factor beyond the threshold
  bool is_memory = false;    // `value` is in bytes
  std::string winner_name;   // name of a new winner that is not a row of the search
};

struct Robustness {
  DrawSettings settings;                      // `draws` counts those that were simulated
  std::size_t top = 5;                        // requested number of candidates
  std::vector<std::string> link_classes;      // classes of links with a random bandwidth
  std::optional<trace::ExpectedError> error;  // without rows: the user gave the scatter
  std::vector<RobustRow> rows;                // best row of the search first
  std::vector<Perturbation> perturbations;
  std::vector<std::string> without_effect;  // changes that do not change the winner
  bool turns_are_cut = false;  // the time was spent before all changes were examined closely
  std::vector<std::string> notes;
};

// Comparison of a candidate with the best of the search, over all draws.
struct Standing {
  double wins = 0;  // share of the draws that the candidate wins; ties are shared
  // 90 % interval, over the draws, of the relative loss in the objective against the best of the
  // search under the same draw. A negative loss means that the candidate is better.
  Range behind;
  double worst = 0;  // largest relative loss against the winner of a draw

  bool is_tie() const { return behind.least <= 0 && behind.most >= 0; }
};
struct RobustStanding {
  Standing conditions;  // under the conditions alone
  Standing with_error;  // with the error of the model, too
  Range seconds;        // 90 % interval of the iteration time, with the error of the model
};
std::vector<RobustStanding> standings(const SearchRun& run, const Robustness& robust);

// Candidates that the draws rank as the best of the search, or above it: indices in
// Robustness::rows. The first row is the best of the search.
struct Verdict {
  std::vector<std::size_t> ties;    // 0 lies within 90 % of the paired differences
  std::vector<std::size_t> better;  // at least 95 % of the paired differences are below 0
};
Verdict verdict_of(const Robustness& robust, const std::vector<RobustStanding>& standings);

// Sentence for Robustness::turns_are_cut.
inline constexpr const char* turns_cut_text =
    "the time was spent before all changes were examined closely";
// Says why no other candidate is compared with the best; empty if there is one.
std::string no_comparison_text(const Robustness& robust);
// Returns a line such as "bandwidth of nic below 53 % (24.9 GB/s): 2 wins, by 1.0 % at 50 %", in
// which `winner` names the new winner.
std::string perturbation_text(const Perturbation& perturbation, const std::string& winner);

// Return the report for people, and as JSON.
AnswerReport robustness_answer(const SearchRun& run, const Robustness& robust);
Json robustness_json(const SearchRun& run, const Robustness& robust);

}  // namespace pipewright::analysis
