#include "sim/workload/uneven.hpp"

#include <algorithm>

namespace pipewright::workload {

PassRatios ratios_of(const Uneven& uneven, const StageCosts& costs, std::uint32_t replica,
                     const schedules::Pass& pass) {
  const Uneven::Work work = uneven.work(replica, pass.microbatch);
  const double experts = work.tokens * uneven.experts_ratio(pass.stage, pass.microbatch);
  const double by_pairs = StageCosts::of(costs.attention_share, pass);
  const double by_experts = StageCosts::of(costs.experts_share, pass);
  const double by_encoder = StageCosts::of(costs.encoder_share, pass);
  const double by_tokens = std::max(0.0, 1 - by_pairs - by_experts - by_encoder);
  return {.kernels = by_tokens * work.tokens + by_pairs * work.attention + by_experts * experts +
                     by_encoder * work.encoder,
          .dispatch = experts,
          .exchange = work.exchange,
          .collectives = work.tokens};
}

}  // namespace pipewright::workload
