#pragma once

#include <functional>
#include <vector>

#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/execution/gradient_count.hpp"
#include "sim/execution/replica_groups.hpp"

namespace pipewright::execution {

// What Synchronizer and Device do between the passes, where nothing contends: collectives take as
// long as they take alone, and those of a device follow one another. For one iteration.
class IdleStep {
 public:
  // Throws schedules::Error for what needs the network.
  IdleStep(const Job& job, trace::Sink& sink);

  // When a pass, or a fused pair, starts that could do so at `ready`: it goes on part by part as
  // its weights arrive, and what it waits for them counts as before it. In order for each device,
  // and before pass().
  double start(std::uint32_t device, const schedules::Pass& pass, const schedules::Pass* partner,
               double ready);
  void pass(std::uint32_t device, const schedules::Pass& pass, const schedules::PassSpan& span);
  // After all passes.
  void finish();

 private:
  // A device is ready for its part of a collective.
  struct Post {
    std::uint32_t device = 0;
    std::uint32_t stage = 0;
    std::uint32_t part = 0;
    double posted = 0;
  };
  double seconds(const std::vector<CollectiveOp>& ops) const;
  std::vector<Post> posts_of_weights(const std::vector<double>& times) const;
  std::uint32_t parts_to_wait_for(std::uint32_t device, const schedules::Pass& pass);
  // Each collective starts when the last of the stage's devices is ready for it and those before it
  // have ended; then `ended` hears of each device's end.
  void meet(trace::CollectiveKind kind, const std::vector<Post>& posts,
            const std::function<void(const Post&, double)>& ended);
  void gather_before();
  void tie_embeddings(std::vector<trace::StepRow>& rows);

  const Job& job_;
  trace::Sink& sink_;
  RankPlacement placement_;
  ReplicaGroups replica_groups_;
  std::vector<double> gradient_seconds_;  // by stage, of a part
  std::vector<double> weight_seconds_;    // likewise
  std::vector<GradientCount> counts_;     // by device, likewise the next
  std::vector<double> busy_until_;        // of its collectives
  std::vector<double> passes_end_;
  std::vector<double> gathering_;
  std::vector<std::vector<double>> weights_arrive_;  // by stage and part; empty: there all along
  std::vector<std::vector<bool>> awaited_;           // weights, by device and stage
  std::vector<Post> gradients_;                      // of each device in order
};

}  // namespace pipewright::execution
