#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

// Outcome of a goodput run: a simulation of months of training with failures and checkpoints.
namespace pipewright::analysis {

// Categories of a run's time. Each second of the run belongs to exactly one.
enum class GoodputPart : std::uint8_t {
  training,    // Training that lasts, at the speed of the simulated iteration.
  lost,        // Training that is lost and repeated.
  slowed,      // Extra time of training: stragglers, fewer replicas, checkpoints on the network.
  checkpoint,  // Training waits for a checkpoint.
  detection,
  waiting,  // The job waits for nodes.
  restart,
  loading,
  planned,  // Stops for maintenance.
};
inline constexpr std::array<std::string_view, 9> goodput_part_names{
    "training", "lost",    "slowed",  "checkpoint", "detection",
    "waiting",  "restart", "loading", "planned"};
inline constexpr std::size_t goodput_parts = goodput_part_names.size();

// Result of the goodput run with one random seed. Times are in seconds.
struct GoodputOutcome {
  std::uint64_t seed = 0;
  std::array<double, goodput_parts> parts{};
  std::uint64_t interruptions = 0;
  std::uint64_t corruptions = 0;  // Detected corruptions.
  std::uint64_t stragglers = 0;
  std::uint64_t checkpoints = 0;  // Complete checkpoints in the storage.
  bool reached = true;            // The target was trained.

  double operator[](GoodputPart part) const { return parts[static_cast<std::size_t>(part)]; }
  double& operator[](GoodputPart part) { return parts[static_cast<std::size_t>(part)]; }
  double seconds() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }
  // Returns the effective training time ratio: the share of time with training that is not lost.
  double ratio() const { return seconds() > 0 ? (*this)[GoodputPart::training] / seconds() : 1; }

  bool operator==(const GoodputOutcome&) const = default;
};

// A time span in which the job does one activity, in seconds from the start of the job.
struct GoodputSpan {
  GoodputPart part = GoodputPart::training;
  double start = 0;
  double end = 0;
  // Seconds of training at full speed in this span: less than its length if it is slowed.
  double trained = 0;

  bool operator==(const GoodputSpan&) const = default;
};

}  // namespace pipewright::analysis
