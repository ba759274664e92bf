#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analysis/report/summary.hpp"
#include "analysis/report/summary_report.hpp"

// What a training of many iterations takes, each as long as one that was simulated.
namespace pipewright::analysis {

// Watts of a GPU while it computes, and while it waits.
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
  std::optional<double> price;   // in the currency
  std::optional<double> joules;  // of the GPUs alone
};

// Energy: sum over devices of their GPUs times (compute x P_compute + the rest x P_idle), where the
// rest are bubbles and exposed communication. Kernels that wait for others draw more than an idle
// GPU, so it is a lower bound there. None of a run whose tokens are not known.
std::optional<TrainingCost> training_cost(const Summary& run, const TrainingQuestion& question);

// A table with a row for each run, below "300B tokens:"; nothing where no run knows its tokens.
std::string training_cost_table(std::span<const Summary> runs, const TrainingQuestion& question);
JsonFields training_cost_fields(const Summary& run, const TrainingQuestion& question);

}  // namespace pipewright::analysis
