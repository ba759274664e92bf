#include "sim/search/draws.hpp"

#include <cmath>
#include <numbers>
#include <string_view>

#include "sim/base/mix.hpp"

namespace pipewright::search {
namespace {

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t value = 0xCBF29CE484222325U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return value;
}

}  // namespace

double Chance::uniform(std::string_view name) const {
  const std::uint64_t bits = base::mix(base::mix(base::mix(seed) ^ draw) ^ fnv1a(name));
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

// Box-Muller transform.
double Chance::normal(std::string_view name) const {
  const std::string prefix(name);
  const double radius = std::sqrt(-2 * std::log(1 - uniform(prefix + "/r")));
  return radius * std::cos(2 * std::numbers::pi * uniform(prefix + "/a"));
}

std::vector<analysis::Draw> make_draws(const analysis::DrawSettings& settings,
                                       const std::vector<std::string>& link_classes) {
  std::vector<analysis::Draw> draws;
  for (std::uint32_t i = 0; i < settings.draws; ++i) {
    const Chance chance{settings.seed, i};
    const auto factor = [&](const std::string& name) {
      return 1 + settings.network * (2 * chance.uniform(name) - 1);
    };
    analysis::Draw& draw = draws.emplace_back();
    draw.jitter = settings.jitter;
    draw.seed = static_cast<std::uint32_t>(base::mix(base::mix(settings.seed) ^ i));
    for (const std::string& name : link_classes) draw.bandwidth[name] = factor("bandwidth/" + name);
    draw.latency = factor("latency");
    if (chance.uniform("is slow") < settings.slow_chance) {
      draw.slow_gpu = chance.uniform("slow GPU");
      draw.slow_factor = 1 + settings.slow * chance.uniform("slow");
    }
  }
  return draws;
}

}  // namespace pipewright::search
