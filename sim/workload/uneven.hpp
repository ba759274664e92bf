#pragma once

#include <cstdint>
#include <vector>

#include "schedules/pass.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// By how much the work of microbatches differs from that of the mean one, which costs are of.
struct Uneven {
  // Over the mean microbatch's.
  struct Work {
    double tokens = 1;
    double attention = 1;  // pairs of a query and a key that are computed
  };

  std::uint32_t microbatches = 1;  // of a replica, of all iterations
  std::uint32_t slices = 1;        // of each, which passes count one by one
  std::vector<Work> works;         // by replica and microbatch; empty: all alike
  bool tokens_differ = false;      // not attention's pairs alone
  std::vector<double> experts;     // by stage and microbatch: of the busiest rank; empty: likewise

  bool replicas_differ() const { return !works.empty(); }
  Work work(std::uint32_t replica, std::uint32_t microbatch) const {
    return works.empty() ? Work{} : works[std::size_t{replica} * microbatches + place(microbatch)];
  }
  double of_experts(std::uint32_t stage, std::uint32_t microbatch) const {
    return experts.empty() ? 1 : experts[std::size_t{stage} * microbatches + place(microbatch)];
  }

 private:
  std::uint32_t place(std::uint32_t microbatch) const { return microbatch / slices % microbatches; }
};

// How many times as long a pass's kernels, and the bytes of its collectives, are as planned.
struct PassRatios {
  double kernels = 1;
  double dispatch = 1;  // of tokens on their way to experts and back
  double others = 1;

  double of(Group group) const {
    return group == Group::ep || group == Group::etp ? dispatch : others;
  }
};
PassRatios ratios_of(const Uneven& uneven, const StageCosts& costs, std::uint32_t replica,
                     const schedules::Pass& pass);

}  // namespace pipewright::workload
