#include "schedules/routes.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pipewright::schedules {

Routes Routes::looped(std::uint32_t devices, std::uint32_t chunks) {
  std::vector<std::uint32_t> route(std::size_t{devices} * chunks);
  for (std::uint32_t stage = 0; stage < route.size(); ++stage) route[stage] = stage % devices;
  return Routes({std::move(route)});
}

Routes Routes::v_shape(std::uint32_t devices) {
  std::vector<std::uint32_t> route(std::size_t{devices} * 2);
  for (std::uint32_t device = 0; device < devices; ++device)
    route[device] = route[2 * devices - 1 - device] = device;
  return Routes({std::move(route)});
}

Routes Routes::both_ways(std::uint32_t devices) {
  std::vector<std::uint32_t> down(devices);
  std::vector<std::uint32_t> up(devices);
  for (std::uint32_t stage = 0; stage < devices; ++stage) {
    down[stage] = stage;
    up[stage] = devices - 1 - stage;
  }
  return Routes({std::move(down), std::move(up)});
}

Routes Routes::attention_parallel(std::uint32_t devices, std::uint32_t layers_per_device,
                                  std::uint32_t fold) {
  const std::uint32_t layers = devices * layers_per_device;
  std::vector<std::vector<std::uint32_t>> device_of(std::size_t{devices} * fold);
  for (std::uint32_t route = 0; route < device_of.size(); ++route) {
    std::vector<std::uint32_t>& stages = device_of[route];
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      stages.push_back(layer % devices);
      stages.push_back((layer + 1 + route / fold) % devices);
    }
    stages.push_back(0);  // The matrices of the last layer after its attention, and the loss.
  }
  return Routes(std::move(device_of), true);
}

Routes::Routes(std::vector<std::vector<std::uint32_t>> device_of, bool divides_layers)
    : device_of_(std::move(device_of)), divides_layers_(divides_layers) {
  std::vector<std::vector<std::uint32_t>> stages_on;  // By device, in ascending order.
  for (std::uint32_t stage = 0; stage < stages(); ++stage)
    for (const auto& route : device_of_) {
      if (route[stage] >= stages_on.size()) stages_on.resize(std::size_t{route[stage]} + 1);
      std::vector<std::uint32_t>& stages_here = stages_on[route[stage]];
      if (stages_here.empty() || stages_here.back() != stage) stages_here.push_back(stage);
    }
  for (const auto& route : device_of_) {
    std::vector<std::uint32_t> chunks(route.size());
    for (std::uint32_t stage = 0; stage < route.size(); ++stage) {
      const std::vector<std::uint32_t>& stages_here = stages_on[route[stage]];
      chunks[stage] = static_cast<std::uint32_t>(std::ranges::lower_bound(stages_here, stage) -
                                                 stages_here.begin());
    }
    chunk_of_.push_back(std::move(chunks));
  }
}

std::set<std::pair<std::uint32_t, std::uint32_t>> Routes::neighbours() const {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const std::vector<std::uint32_t>& devices : device_of_)
    for (std::uint32_t stage = 0; stage + 1 < stages(); ++stage) {
      const std::uint32_t a = devices[stage];
      const std::uint32_t b = devices[stage + 1];
      if (a != b) pairs.insert({{a, b}, {b, a}});
    }
  return pairs;
}

}  // namespace pipewright::schedules
