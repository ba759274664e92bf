#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"

namespace pipewright::analysis {

// The same seeds with something changed.
struct GoodputVariant {
  std::string name;
  double interval_s = 0;       // between its checkpoints
  std::uint32_t nodes = 0;     // with its spares
  std::vector<double> ratios;  // effective training time, by seed
};

// What `pipewright goodput` finds, of whatever shows it.
struct GoodputReport {
  std::string title;
  std::string what;  // was trained, on what and how cut
  std::uint32_t gpus = 1;
  std::uint32_t nodes = 1;
  std::optional<std::uint32_t> spares;  // nodes; none: always one
  double iteration_s = 0;
  std::optional<double> tokens_per_iteration;
  std::optional<double> target_tokens;  // else a duration was asked for

  std::string mode;  // of checkpoints
  double checkpoint_bytes = 0;
  double stall_s = 0;  // training waits for a checkpoint
  double write_s = 0;  // until the storage has one
  double interval_s = 0;
  bool interval_is_given = false;         // else the best by formula
  std::optional<double> peer_interval_s;  // between copies to peers, where there are any
  std::optional<double> mean_between_s;   // interruptions; none: nothing fails
  double young_s = 0;                     // of checkpoints to the storage
  double daly_s = 0;
  double exact_ratio = 0;  // by Daly's model
  double first_order_ratio = 0;

  std::vector<GoodputOutcome> outcomes;   // by seed
  std::vector<GoodputVariant> intervals;  // ascending, the asked one among them
  std::vector<GoodputVariant> worth;      // what would change it
  std::size_t shown = 0;                  // the outcome that is most like the others,
  std::vector<GoodputSpan> spans;         // and what it did when

  std::optional<double> price_per_gpu_hour;
  std::string currency = "$";

  std::optional<double> tokens_a_day(double ratio) const;
};

// Where one value lies over seeds: 90 % of them within low and high.
struct GoodputBand {
  double mean = 0;
  double low = 0;
  double high = 0;
};
GoodputBand band_of(const std::vector<double>& values);

// The mean of the differences of two variants' ratios over the seeds that both have, and the half
// width of its 90 % confidence.
struct GoodputGain {
  double mean = 0;
  double half_width = 0;
};
GoodputGain gain_of(const GoodputVariant& variant, const std::vector<GoodputOutcome>& outcomes);

// The number of the best interval's variant. Throws std::logic_error if there is none.
std::size_t best_interval(const GoodputReport& report);

// The number of the outcome whose ratio is in the middle.
std::size_t middle_of(const std::vector<GoodputOutcome>& outcomes);

}  // namespace pipewright::analysis
