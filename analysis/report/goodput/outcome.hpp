#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

// What became of a training of weeks.
namespace pipewright::analysis {

// Where its time goes. All parts together are the whole time.
enum class GoodputPart : std::uint8_t {
  training,    // that lasted, at the speed of the simulated iteration
  lost,        // training that was done again
  slowed,      // what training took longer: stragglers, fewer replicas, checkpoints on the network
  checkpoint,  // training waits for one
  detection,
  waiting,  // for nodes
  restart,
  loading,
  planned,  // stops for maintenance
};
inline constexpr std::array<std::string_view, 9> goodput_part_names{
    "training", "lost",    "slowed",  "checkpoint", "detection",
    "waiting",  "restart", "loading", "planned"};
inline constexpr std::size_t goodput_parts = goodput_part_names.size();

// Of one seed. Times in seconds.
struct GoodputOutcome {
  std::uint64_t seed = 0;
  std::array<double, goodput_parts> parts{};
  std::uint64_t interruptions = 0;
  std::uint64_t corruptions = 0;  // that were found
  std::uint64_t stragglers = 0;
  std::uint64_t checkpoints = 0;  // to the storage, complete
  bool reached = true;            // what was to be trained

  double operator[](GoodputPart part) const { return parts[static_cast<std::size_t>(part)]; }
  double& operator[](GoodputPart part) { return parts[static_cast<std::size_t>(part)]; }
  double seconds() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }
  // The effective training time ratio.
  double ratio() const { return seconds() > 0 ? (*this)[GoodputPart::training] / seconds() : 1; }

  bool operator==(const GoodputOutcome&) const = default;
};

// What the job did for a while, in seconds from its start.
struct GoodputSpan {
  GoodputPart part = GoodputPart::training;
  double start = 0;
  double end = 0;

  bool operator==(const GoodputSpan&) const = default;
};

}  // namespace pipewright::analysis
