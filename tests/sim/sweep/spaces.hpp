#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/text/yaml.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search::test {

inline Sweep sweep_of(const std::string& text, const std::string& name = "s.yaml") {
  return read_sweep(config::read_yaml_text(text, name));
}

// Returns what a search knows about a cluster of nodes with eight GPUs.
inline ClusterFacts cluster_of(std::uint32_t gpus) {
  return {"dgx", gpus, gpus == 0 ? 0U : 8U, "a100-80gb", std::uint64_t{80} << 30U};
}

inline Space space_of(const std::string& text, std::uint32_t gpus = 16) {
  Sweep sweep = sweep_of(text);
  const std::vector<std::string> clusters = cluster_values(sweep);
  std::vector<ClusterFacts> facts;
  for (const std::string& cluster : clusters)
    facts.push_back(cluster_of(cluster.empty() ? 0 : gpus));
  return {std::move(sweep), std::move(facts)};
}

inline std::vector<std::uint64_t> candidates_of(const Space& space) {
  std::vector<std::uint64_t> candidates;
  space.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    for (const std::uint32_t schedule : schedules)
      candidates.push_back(layout * space.schedules() + schedule);
    return true;
  });
  return candidates;
}

// Returns a sweep of 4.5e12 combinations, too many to enumerate, with this content of its section
// `search`.
inline std::string huge_sweep(const std::string& section = "{}") {
  return "devices: 1..300\nmicrobatches: 1..50000\niterations: 1..100000\n"
         "forward_times: 1 ms\nbackward_times: 2 ms\np2p: [eager, rendezvous, blocking]\n"
         "schedule: 1f1b\nsearch: " +
         section + "\n";
}

// Returns the axes and their values as text, such as "tp: 1 2 4, schedule: 1f1b".
inline std::string axes_of(const Space& space) {
  std::string text;
  for (const analysis::SearchAxis& axis : space.axes()) {
    text += (text.empty() ? "" : ", ") + axis.name + ":";
    for (const std::string& value : axis.values) text += " " + value;
  }
  return text;
}

// Returns which value a candidate has on each axis, as an index.
inline std::vector<std::size_t> digits_of(const Space& space, std::uint64_t candidate) {
  std::vector<std::size_t> digits(space.axes().size());
  for (std::size_t i = digits.size(); i-- > 0;) {
    const std::uint64_t size = space.axes()[i].values.size();
    digits[i] = candidate % size;
    candidate /= size;
  }
  return digits;
}

}  // namespace pipewright::search::test
