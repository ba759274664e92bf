#pragma once

#include <cstdint>
#include <vector>

#include "schedules/pass.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Ratios of each microbatch's work to that of the mean microbatch, for which the times in
// StageCosts hold.
struct Uneven {
  // Ratios of a microbatch's work to that of the mean microbatch.
  struct Work {
    double tokens = 1;
    double attention = 1;  // computed pairs of a query and a key
    double exchange = 1;   // bytes of keys and values that ranks of cp exchange
    double encoder = 1;    // FLOP of the encoder of images
    double stored = 1;     // tokens whose activations are stored at a time
  };

  std::uint32_t microbatches = 1;  // per replica, over all iterations
  std::uint32_t slices = 1;        // per microbatch; a pass counts slices individually
  std::vector<Work> work_ratios;   // by replica and microbatch; empty: all equal
  bool tokens_differ = false;      // false if only the pairs of attention differ
  // Load of the busiest rank's experts relative to its mean, by stage and microbatch; empty: all
  // equal.
  std::vector<double> experts;

  bool replicas_differ() const { return !work_ratios.empty(); }
  Work work(std::uint32_t replica, std::uint32_t microbatch) const {
    return work_ratios.empty()
               ? Work{}
               : work_ratios[std::size_t{replica} * microbatches + index_of(microbatch)];
  }
  double experts_ratio(std::uint32_t stage, std::uint32_t microbatch) const {
    return experts.empty() ? 1 : experts[std::size_t{stage} * microbatches + index_of(microbatch)];
  }

 private:
  std::uint32_t index_of(std::uint32_t microbatch) const {
    return microbatch / slices % microbatches;
  }
};

// Ratios of a pass's kernel time, and of the bytes of its collectives, to those of the mean
// microbatch.
struct PassRatios {
  double kernels = 1;
  double dispatch = 1;  // collectives that send tokens to experts and back
  double exchange = 1;  // collectives of context parallelism
  double collectives = 1;

  double of(Group group) const {
    if (group == Group::ep || group == Group::etp) return dispatch;
    const bool is_cp = group == Group::cp || group == Group::cp_a2a || group == Group::cp_p2p;
    return is_cp ? exchange : collectives;
  }
};
PassRatios ratios_of(const Uneven& uneven, const StageCosts& costs, std::uint32_t replica,
                     const schedules::Pass& pass);

}  // namespace pipewright::workload
