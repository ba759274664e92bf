#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/rows.hpp"

// How sure the winner of a search is: the best of it under other conditions than the planned ones.
namespace pipewright::analysis {

// The conditions of one day. Those that are compared meet the same ones.
struct Draw {
  std::map<std::string, double> bandwidth;  // of classes of links, times
  double latency = 1;                       // of all ways, times
  double jitter = 0;                        // a pass's standard deviation over its mean
  std::uint32_t seed = 1;                   // of the jitter
  double slow_gpu = 0;     // one of those that a job uses, counted in parts of them from 0 to 1
  double slow_factor = 1;  // of its passes' times
};

// How far measured iterations of a kind of run are from predicted ones: `low` to `high` are the 5th
// to the 95th percentile of measured over predicted - 1. `scatter` is the standard deviation of its
// logarithm among runs of one model, which is what a comparison of layouts is off by.
struct ErrorBand {
  std::string kind;  // "a100-80gb, bf16, dense"
  std::uint64_t rows = 0;
  double low = 0;
  double middle = 0;
  double high = 0;
  double scatter = 0;
};

// What was drawn from.
struct DrawSettings {
  std::uint32_t draws = 32;
  std::uint32_t seed = 1;
  double jitter = 0.02;
  double network = 0.2;      // bandwidths and latencies are within 1 -+ this
  double slow = 0.1;         // a slow GPU takes longer by up to this part
  double slow_chance = 0.5;  // of a draw to have one
};

struct RobustRow {
  std::size_t row = 0;              // of the search
  std::vector<double> seconds;      // of an iteration under each draw; 0: it failed
  std::vector<double> own_error;    // by draw: what the model's error does to this layout alone
  std::vector<double> whole_error;  // by draw: likewise, the same for all layouts
};

// Where another wins: the first value beyond which it does, on the way from the planned one.
struct Turn {
  std::string what;  // "bandwidth of nic"
  bool below = false;
  double factor = 1;       // of the planned value
  double value = 0;        // in bytes/s, or bytes; 0: the factor alone says it
  std::size_t row = 0;     // who wins there
  double lead = 0;         // by how much, at `far`
  double far = 1;          // a factor farther off, which was looked at
  bool is_memory = false;  // a value is a size
  std::string named;       // who wins, where no row of the search is
};

struct Robustness {
  DrawSettings settings;
  std::size_t top = 5;                    // so many of the best were asked for
  std::vector<std::string> link_classes;  // whose bandwidth was drawn
  std::optional<ErrorBand> band;
  std::vector<RobustRow> rows;  // the best of the search first
  std::vector<Turn> turns;
  std::vector<std::string> steady;  // what was changed without changing the winner
  std::vector<std::string> notes;
};

// Under the conditions alone, and with the model's own error: how many of the draws it wins (ties
// are shared), the interval of its paired differences from the best of the search in 90 % of the
// draws (objective as a part; below 0: it is better), and the most that it loses to a draw's best.
struct Standing {
  double wins = 0;
  Range behind;
  double worst = 0;

  bool is_tie() const { return behind.least <= 0 && behind.most >= 0; }
};
struct RobustStanding {
  Standing conditions;
  Standing with_error;
  Range seconds;  // of an iteration, in 90 % of the draws, with the model's error
};
std::vector<RobustStanding> standings(const SearchRun& run, const Robustness& robust);

// Lines for a terminal, and the same as JSON.
std::string robustness_text(const SearchRun& run, const Robustness& robust);
Json robustness_json(const SearchRun& run, const Robustness& robust);

}  // namespace pipewright::analysis
