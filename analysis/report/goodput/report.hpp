#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Results of the run with one changed setting, simulated with the same random seeds.
struct GoodputVariant {
  std::string name;
  double interval_s = 0;    // Training between checkpoints.
  std::uint32_t nodes = 0;  // Including spares.
  // Effective training time ratios by seed. Empty: the run hardly trains between its failures, and
  // so does not end.
  std::vector<double> ratios;
};

// Everything that `pipewright goodput` computes, before it is formatted.
struct GoodputReport {
  std::string title;
  std::string subject;  // Schedule, model, GPU and layout, in one line.
  std::uint32_t gpus = 1;
  std::uint32_t nodes = 1;
  std::uint32_t racks = 0;              // NVLink racks of several nodes; 0: there are none.
  std::optional<std::uint32_t> spares;  // Spare nodes; nothing if unlimited.
  double iteration_s = 0;
  std::optional<double> tokens_per_iteration;
  std::optional<double> target_tokens;  // Nothing if the run has a fixed duration.

  std::string mode;  // Mode of checkpoints.
  double checkpoint_bytes = 0;
  double stall_s = 0;  // Time for which a checkpoint stops training.
  double write_s = 0;  // Time to write a checkpoint to the storage.
  double interval_s = 0;
  bool interval_is_given = false;         // Otherwise a formula chose it.
  std::optional<double> peer_interval_s;  // Between copies to peers, if any.
  std::optional<double> mean_between_s;   // Between interruptions; nothing without failures.
  double young_s = 0;                     // Young's interval of checkpoints to the storage.
  double daly_s = 0;
  double exact_ratio = 0;  // By Daly's model.
  double first_order_ratio = 0;

  std::vector<GoodputOutcome> outcomes;   // By seed.
  std::vector<GoodputVariant> intervals;  // By interval, including that of the run.
  std::vector<GoodputVariant> worth;      // What-ifs: other hardware and software.
  std::size_t shown = 0;                  // Index of the median outcome.
  std::vector<GoodputSpan> spans;         // Its activities in order of time.

  std::optional<double> price_per_gpu_hour;
  std::string currency = "$";

  trace::ExpectedError expected_error;  // Of iteration_s.
  std::vector<std::string> failures;    // "gpu 0.3 per 1000 gpu-days", by kind; empty: none given.
  std::vector<std::string> notes;       // On spares and failures.
  std::vector<std::string> iteration_notes;

  std::optional<double> tokens_a_day(double ratio) const;
};

// Distribution of a value over seeds; 90 % of them lie between low and high.
struct GoodputBand {
  double mean = 0;
  double low = 0;
  double high = 0;
};
GoodputBand band_of(const std::vector<double>& values);

// Mean difference of the ratios of two variants over their common seeds, and the half width of its
// 90 % confidence interval. The variant must have ratios.
struct GoodputGain {
  double mean = 0;
  double half_width = 0;
};
GoodputGain gain_of(const GoodputVariant& variant, const std::vector<GoodputOutcome>& outcomes);

// Returns the index of the variant whose checkpoint interval gives the highest mean ratio over
// seeds. Throws std::logic_error if no intervals were simulated.
std::size_t best_interval(const GoodputReport& report);
// Returns the shortest and the longest checkpoint interval that differ from the best by less than
// the 90 % range of their differences over seeds. Both are the best if all others are worse.
std::pair<double, double> best_interval_range(const GoodputReport& report);

// Returns the index of the outcome whose effective training time ratio is the median.
std::size_t median_of(const std::vector<GoodputOutcome>& outcomes);

}  // namespace pipewright::analysis
