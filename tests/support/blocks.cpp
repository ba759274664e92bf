#include "support/blocks.hpp"

namespace pipewright::tests {

schedules::BuildingBlock one_f_one_b_block(std::uint32_t devices) {
  using schedules::PassKind;
  schedules::BuildingBlock block{.name = "1f1b",
                                 .devices = devices,
                                 .routes = schedules::Routes::looped(devices, 1),
                                 .interval = 3,
                                 .passes = {}};
  for (std::uint16_t stage = 0; stage < devices; ++stage)
    block.passes.push_back({{PassKind::forward, stage, 0}, stage});
  for (std::uint16_t stage = 0; stage < devices; ++stage)
    block.passes.push_back(
        {{PassKind::backward, stage, 0}, devices + 2 * std::int64_t{devices - 1U - stage}});
  return block;
}

}  // namespace pipewright::tests
