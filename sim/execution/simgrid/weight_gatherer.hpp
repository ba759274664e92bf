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

// Gathers the weights of a device that its replicas hold in shards, part by part, in the order in
// which passes need them. ZeRO-1 and 2 gather the weights of a stage once per iteration, ZeRO-3
// those of each pass. FSDP that reshards stages of a pipeline gathers whole stages by its plan:
// PyTorch's runtime starts to gather a stage when it reaches UNSHARD, after the previous pass, and
// waits for the stage at its first pass (torch/distributed/pipelining/schedules.py,
// _PipelineScheduleRuntime).
class WeightGatherer {
 public:
  explicit WeightGatherer(DeviceContext& device);

  // Reports the memory of weights that do not stay gathered to `recorder`.
  void report_to(Recorder& recorder) { recorder_ = &recorder; }

  // ZeRO-1 and 2: starts to gather updated weights, which are needed by the first forward pass.
  void begin_iteration(std::uint32_t iteration, const std::vector<std::uint32_t>& stages);
  // ZeRO-3 only: requests the first parts of the weights for the next pass or fused pair, from `at`
  // on, that needs weights. If the optimizer has yet to update them, the request waits for the
  // update.
  void prefetch(schedules::PassCursor at);
  // FSDP that reshards stages: makes the change that is due before a pass or fused pair.
  void begin_pass(const schedules::Pass& pass);

  // Number of parts of its weights that a pass has to wait for after its start; for the second pass
  // of a fused pair, apart from those that the first pass waits for.
  std::uint32_t parts(const schedules::Pass& pass) const;
  std::uint32_t parts_of_second(const schedules::Pass& first, const schedules::Pass& second) const {
    return key_of(first) == key_of(second) ? 0 : parts(second);
  }
  // Waits until a part of the weights has arrived, and returns the time at which the device
  // continues.
  double wait(const schedules::Pass& pass, std::uint32_t part, double now);
  // Frees the gathered weights that no pass needs after this one: with ZeRO-3 those of the pass,
  // and with FSDP that reshards stages all of them, after the last pass of an iteration.
  void end_pass(const schedules::Pass& pass, double now);

  // Gathers all weights after the optimizer's step and returns the time at which they are complete.
  double gather_after_step(std::uint32_t iteration, const std::vector<std::uint32_t>& stages);
  // Records that the optimizer has updated the weights, up to and including this iteration.
  void set_updated(std::uint32_t iteration);
  // Seconds that passes of the device have waited for weights since the previous call.
  double take_waited() { return std::exchange(waited_, 0); }

 private:
  // Stage whose weights are gathered or, with ZeRO-3, one of its passes.
  struct Key {
    std::uint32_t stage = 0;
    std::optional<PassOfStage> pass;
    auto operator<=>(const Key&) const = default;
  };
  bool gathers_by_pass() const { return device_.job.conditions.zero >= 3; }
  Key key_of(const schedules::Pass& pass) const;
  PendingCollective gather(const PartOfStage& part);
  // Gathers all parts of a stage, from the `first` on.
  void gather_stage(PartOfStage first);
  void gather(const schedules::Pass& pass, std::uint32_t part);
  void drop(const schedules::Pass& pass, double now);

  DeviceContext& device_;
  Recorder* recorder_ = nullptr;
  std::map<Key, std::vector<PendingCollective>> pending_;  // parts that are on their way
  // ZeRO-3: first pass of a stage in an iteration, by iteration and stage. Its weights are gathered
  // over copies of shards too.
  std::map<std::pair<std::uint32_t, std::uint32_t>, PassOfStage> first_passes_;
  std::set<Key> in_use_;                              // passes that run on gathered weights
  std::optional<schedules::PassCursor> deferred_;     // request that waits for the update
  std::optional<schedules::UnshardCursor> unshards_;  // empty: no stage is resharded
  std::uint32_t updated_ = 0;                         // number of updated iterations
  double waited_ = 0;
};

}  // namespace pipewright::execution
