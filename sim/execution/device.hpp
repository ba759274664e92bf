#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "schedules/program.hpp"
#include "sim/execution/compute_clock.hpp"
#include "sim/execution/gradient_count.hpp"
#include "sim/execution/milestones.hpp"
#include "sim/execution/network.hpp"
#include "sim/execution/recorder.hpp"
#include "sim/execution/synchronizer.hpp"

namespace pipewright::execution {

// The actor of one device of one replica: walks its program, waits for inputs and weights,
// computes, sends, and ends each iteration with the optimizer's step.
class Device {
 public:
  // Rows of the first replica go to `sink`.
  Device(const Job& job, ReplicaDevice who, double epoch, Synchronizer& others, trace::Sink& sink);

  void run(const Network& network);
  // The pass at which it stands; none when it has done all.
  std::optional<schedules::Pass> stands_at() const;

 private:
  // A collective that this device waits for later.
  struct Pending {
    Synchronizer::Joined collective;
    trace::CollectiveRow row;
  };

  // When the input was sent and had arrived, for a device that is ready to receive it `now`.
  schedules::PassSpan wait_for_input(const schedules::Pass& pass, double now,
                                     const Network& network);
  // Returns when the device may go on.
  double send_output(const schedules::Pass& pass, double now, const Network& network);
  // What a pass, or a fused pair, has to do on this device: the share `slowed` of `seconds` is
  // compute, which goes slower beside collectives; the rest waits for those of the pass itself.
  struct Work {
    double seconds = 0;
    double slowed = 1;
  };
  Work work_of(const schedules::Pass& pass, const schedules::Pass* partner) const;
  double noise_of(const schedules::Pass& pass, const schedules::Pass* partner) const;
  std::uint32_t gradient_parts(const schedules::Pass& pass) const;  // that it reduces on its way
  // Runs the passes that can start at `start`, one or a fused pair.
  class Running;
  struct Ran {
    double start = 0;  // what it waited for weights on the way counts as before it
    double end = 0;
  };
  Ran compute(const schedules::Pass& pass, const schedules::Pass* partner, double start);
  // Takes turns with the collectives within the passes.
  void talk_within(Running& running, const schedules::Pass& pass, const schedules::Pass* partner);

  const std::vector<std::uint32_t>& stages() const { return gradients_made_.stages(); }
  void count(const schedules::Pass& pass);

  // Weights are gathered in parts, in the order in which a pass needs them.
  void fetch_weights(std::uint32_t iteration);
  void prefetch_weights(schedules::PassCursor at);
  std::uint32_t weight_parts(const schedules::Pass& pass) const;
  double wait_for_weights(const schedules::Pass& pass, std::uint32_t part, double now);
  void drop_weights(const schedules::Pass& pass, double now);
  // Lets SimGrid's clock come to where this device's time may be already, before others are told.
  void catch_up(double now);
  Pending gather(std::uint32_t stage, std::uint32_t iteration, std::uint64_t index);
  void gather(const schedules::Pass& pass, std::uint32_t part);  // ZeRO-3
  // Whether gradients are to be reduced after this pass: of its stage's last microbatch, or, with
  // sharded gradients, of every one.
  bool completes_gradients(const schedules::Pass& pass) const;
  void reduce(const schedules::Pass& pass, std::uint32_t part, double now);
  void reduce_all(const schedules::Pass& pass, double now);
  double finish(Pending& pending);
  void finish_iteration(std::uint32_t iteration);

  const Job& job_;
  ReplicaDevice self_;
  double epoch_;  // SimGrid's clock at the start of the run
  Synchronizer& others_;
  const ReplicaGroups& replica_groups_;
  trace::Sink* sink_;  // null: nobody looks at this replica
  std::optional<Recorder> recorder_;
  schedules::PassCursor at_;
  ComputeClock clock_;
  bool at_partner_ = false;  // waits for the input of the second of a fused pair
  double now_ = 0;           // this device's time, exact where SimGrid's clock has rounded

  GradientCount gradients_made_;
  // Parts of weights on their way, by stage, or by pass in ZeRO-3.
  std::map<std::uint64_t, std::vector<Pending>> weights_;
  std::optional<schedules::PassCursor> held_back_;  // whose weights come after the update
  std::uint32_t updated_ = 0;                       // iterations
  std::vector<Pending> gradients_;
  std::vector<schedules::Pass> unreduced_;  // that completed gradients, until the iteration ends
  std::set<std::uint64_t> in_use_;          // passes that run on weights which ZeRO-3 has gathered
  std::uint64_t calls_ = 0;
  double gathering_ = 0;  // seconds of this iteration
};

}  // namespace pipewright::execution
