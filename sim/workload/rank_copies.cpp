#include "sim/workload/rank_copies.hpp"

namespace pipewright::workload {

std::vector<ReplicaDevice> copies_by_rank(const Ranks& ranks) {
  std::vector<ReplicaDevice> copies(ranks.size());
  for (std::uint32_t device = 0; device < ranks.devices(); ++device) {
    const std::uint32_t members = ranks.ranks_per_stage(device);
    for (std::uint32_t replica = 0; replica < ranks.replicas(); ++replica)
      for (std::uint32_t member = 0; member < members; ++member)
        copies[ranks.rank_of({replica, device}, member)] = {replica, device};
  }
  return copies;
}

}  // namespace pipewright::workload
