#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analysis/report/summary.hpp"
#include "analysis/report/summary_report.hpp"

// Time, GPU-hours, price and energy of a whole training, extrapolated from the simulated iteration.
namespace pipewright::analysis {

// Power of a GPU in watts, while it computes and while it waits.
struct GpuPower {
  double compute = 0;
  double idle = 0;
};

struct TrainingQuestion {
  double tokens = 0;
  std::optional<double> price_per_gpu_hour;
  std::string currency = "$";
  std::optional<GpuPower> power;
};

struct TrainingCost {
  double seconds = 0;
  double gpu_hours = 0;
  std::optional<double> price;   // in the question's currency
  std::optional<double> joules;  // energy of the GPUs alone
};

// Returns nothing for a run of unknown tokens/s. The energy is the sum over devices of GPUs x
// (compute x P_compute + rest x P_idle), where the rest is bubble and exposed communication.
// Kernels that wait draw more power than an idle GPU, so the energy of the rest is a lower bound.
std::optional<TrainingCost> training_cost(const Summary& run, const TrainingQuestion& question);

// Table with a row for each run below the line "300 B tokens ..."; empty if no run has tokens/s.
std::string training_cost_table(std::span<const Summary> runs, const TrainingQuestion& question);
JsonFields training_cost_fields(const Summary& run, const TrainingQuestion& question);

}  // namespace pipewright::analysis
