#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schedules/program.hpp"
#include "sim/execution/recorder.hpp"
#include "sim/execution/simgrid/device_context.hpp"

namespace pipewright::execution {

// The weights of a device that its replicas hold in shards: gathers them in parts, in the order in
// which passes need them. ZeRO-1 and 2 gather those of a stage once for an iteration, ZeRO-3 those
// of each pass.
class WeightGatherer {
 public:
  explicit WeightGatherer(DeviceContext& device) : device_(device) {}

  // Tells of the weights that ZeRO-3 holds for passes.
  void report_to(Recorder& recorder) { recorder_ = &recorder; }

  // ZeRO-1 and 2: weights were updated in shards, and are whole again before their first forward.
  void begin_iteration(std::uint32_t iteration, const std::vector<std::uint32_t>& stages);
  // ZeRO-3: asks for the first part of the next pass, or fused pair, that needs weights, from `at`
  // on. What is to be updated first comes after that.
  void prefetch(schedules::PassCursor at);

  // How many parts are still to come when a pass starts.
  std::uint32_t parts(const schedules::Pass& pass) const;
  // Waits for a part, and returns when the device goes on.
  double wait(const schedules::Pass& pass, std::uint32_t part, double now);
  // ZeRO-3: a pass needs its weights no longer.
  void drop(const schedules::Pass& pass, double now);

  // Gathers all weights after the optimizer's step; returns when they are whole.
  double gather_after_step(std::uint32_t iteration, const std::vector<std::uint32_t>& stages);
  // The weights of iterations up to this one have been updated.
  void set_updated(std::uint32_t iteration);
  // Seconds that passes waited for weights since it was last asked.
  double take_waited() { return std::exchange(waited_, 0); }

 private:
  // Whose weights: those of a stage, or, in ZeRO-3, of one pass of it.
  struct Key {
    std::uint32_t stage = 0;
    std::optional<PassOfStage> pass;
    auto operator<=>(const Key&) const = default;
  };
  bool by_pass() const { return device_.job.conditions.zero >= 3; }
  Key key_of(const schedules::Pass& pass) const;
  PendingCollective gather(const PartOfStage& which);
  void gather(const schedules::Pass& pass, std::uint32_t part);

  DeviceContext& device_;
  Recorder* recorder_ = nullptr;
  std::map<Key, std::vector<PendingCollective>> pending_;  // parts on their way
  std::set<Key> in_use_;                                   // passes that run on gathered weights
  std::optional<schedules::PassCursor> held_back_;         // whose weights come after the update
  std::uint32_t updated_ = 0;                              // iterations
  double waited_ = 0;
};

}  // namespace pipewright::execution
