#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pipewright::analysis {

// Parts of a step of reinforcement learning.
enum class RlPhase : std::uint8_t {
  log_probabilities,
  reference,
  training,
  weights,  // new weights go to the engines; engines and trainer wait
  overhead  // rewards and data; the trainer waits
};
inline constexpr std::array<std::string_view, 5> rl_phase_names{
    "log-probabilities", "reference model", "training", "weights to engines", "other"};

struct RlSpan {
  RlPhase phase = RlPhase::training;
  double start = 0;  // seconds
  double end = 0;
};

// Work of the pools of GPUs during a few steps of the steady state. A step ends when the engines
// have new weights. Times count from the end of the step before the first one that is shown.
struct RlTimeline {
  double seconds = 0;
  std::vector<double> step_ends;
  std::vector<RlSpan> trainer;  // in order of time; the trainer is idle between them
  // Means over equal parts of the time: the share of the engines that generate, and the responses
  // on an engine that generates or waits.
  std::vector<double> generating;
  std::vector<double> responses;
};

}  // namespace pipewright::analysis
