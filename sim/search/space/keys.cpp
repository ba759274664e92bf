#include "sim/search/space/keys.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "sim/config/scenario.hpp"

namespace pipewright::search {
namespace {

constexpr std::array<std::string_view, 16> list_keys{
    "placement",
    "partition",
    "forward_times",
    "backward_times",
    "input_grad_times",
    "weight_grad_times",
    "fused_times",
    "activation.per_microbatch",
    "activation.released_by_input_grad",
    "activation.released_by_weight_grad",
    "state.weights",
    "state.gradients",
    "state.optimizer",
    "variation.stragglers",
    "variation.slow_links",
    "output",
};
constexpr std::array<std::string_view, 4> whole_keys{"cluster", "model", "gpu", "schedule"};

// Stands in no table, as it is the scenario's `devices`.
constexpr std::string_view pipeline = "parallel.pp";

const std::vector<config::KeyHelp>& known_keys() {
  static const std::vector<config::KeyHelp> keys = config::scenario_keys();
  return keys;
}

}  // namespace

std::string canonical_key(std::string_view key) {
  if (key == "parallel.pipeline") return std::string(pipeline);
  const std::size_t stem = key.rfind('.') + 1;  // 0 where there is no dot
  for (const config::KeyHelp& known : known_keys()) {
    if (known.info.alias.empty()) continue;
    const std::string_view prefix(known.name.data(), known.name.size() - known.info.name.size());
    if (key.substr(0, stem) == prefix && key.substr(stem) == known.info.alias) return known.name;
  }
  return std::string(key);
}

bool is_key(std::string_view key) {
  return key == pipeline ||
         std::ranges::any_of(known_keys(), [&](const auto& known) { return known.name == key; });
}

bool takes_list(std::string_view key) {
  return std::ranges::find(list_keys, key) != list_keys.end();
}

bool is_whole(std::string_view key) {
  return std::ranges::find(whole_keys, key) != whole_keys.end();
}

}  // namespace pipewright::search
