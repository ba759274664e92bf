#include "schedules/families/blocks.hpp"

namespace pipewright::schedules {

// 1F1B with I and W apart and two microbatches a block (the type 2 of the schedule generator beside
// arXiv 2405.15362): F goes one cell a device, I one cell a device, and two microbatches share an
// interval so that they meet on cells of opposite parity. In flight 2 ceil((p-r+1)/3) on device r:
// two thirds of 1F1B. Bubble 2p-3 for F = I = W = 1.
BuildingBlock two_thirds_1f1b(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  BuildingBlock block{.name = "two-thirds-1f1b",
                      .devices = parameters.devices,
                      .routes = Routes::looped(parameters.devices, 1),
                      .microbatches = 2,
                      .passes = {}};
  for (std::uint32_t j = 0; j < 2; ++j)
    for (std::uint16_t stage = 0; stage < p; ++stage) {
      block.passes.push_back({{PassKind::forward, stage, j}, stage + 2 * std::int64_t{j}});
      block.passes.push_back(
          {{PassKind::input_grad, stage, j}, 2 * p - 1 - stage + 2 * std::int64_t{j}});
    }
  place_weight_grads(block);
  return block;
}

}  // namespace pipewright::schedules
