#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

// Error to expect of a predicted iteration time, from the errors of predictions in measured runs of
// the same kind. The runs are in platforms/accuracy, which `./dev accuracy` writes.
namespace pipewright::evaluation {

// Attributes by which runs are alike.
struct RunKind {
  std::string gpu;           // "h100-sxm"
  std::string architecture;  // architecture of the GPU: "Hopper"
  std::string precision;     // "bf16"
  std::uint32_t bits = 0;    // width of the numbers of most products: 16, 8 or 4
  std::string stack;         // "nemo-2"
  std::string family;        // family of the stack: "megatron"
  bool has_experts = false;
  bool is_host_bound = false;  // passes wait for the host to launch kernels
  // Tokens of a sample: 0: up to 1,024; 1: up to 16,384; 2: more.
  std::uint32_t sequence_range = 0;

  auto operator<=>(const RunKind&) const = default;
};

// Kind of a scenario's run on GPUs of a type. Without a model, the kind has no GPU.
RunKind run_kind(const config::Scenario& scenario, const config::Gpu& gpu,
                 const workload::StageCosts& costs);

// Errors of predictions in measured runs of one source and one kind.
struct MeasuredRuns {
  std::string source;  // "NeMo"
  RunKind kind;
  std::uint64_t rows = 0;
  std::vector<double>
      errors;  // ln(measured / predicted), ascending: all, or evenly spaced quantiles
  // Scatter of the errors among runs of one model, which is the error of comparing two layouts:
  // number of runs less number of models, and variance of ln(measured / predicted).
  std::uint64_t compared = 0;
  double variance = 0;
};

// Reads the measured runs of the library (accuracy/iterations.csv). Throws config::Error if the
// file is damaged.
std::vector<MeasuredRuns> read_measured_runs();
// Returns the text of that file.
std::string to_csv(std::span<const MeasuredRuns> runs);

// Returns the 5th and the 95th percentile, widened, and the median of measured / predicted - 1 in
// the measured runs that are nearest to a kind.
//
// Runs are near if they have the same attributes. As long as fewer than two sources with at least
// three runs each, or fewer than ten runs, are left, an attribute is given up, in this order: range
// of sequence lengths; stack (its family stays); data type (its width stays); GPU (its architecture
// stays); family; host-bound or not; width; architecture; experts or not. A source has the weight
// of its runs, but of ten runs at most, so that no single source determines the quantiles. They are
// widened on both sides by 12 % divided by the number of sources, by 1 % for each attribute that
// was given up, and by 10 % each for the architecture and experts. `assumed_share` is the share of
// the GPU's time that rests on numbers without a source; 10 % of it are added if the GPU was given
// up. tests/validation checks that 85 to 95 % of the runs of a source that was left out lie within
// the result.
//
// Returns an error without rows for a kind without a GPU or if no runs are given.
trace::ExpectedError expected_error(const RunKind& kind, std::span<const MeasuredRuns> runs,
                                    double assumed_share = 0);
// The same, from the runs of the library, which are read once.
const trace::ExpectedError& known_error(const RunKind& kind, double assumed_share = 0);

}  // namespace pipewright::evaluation
