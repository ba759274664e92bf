#include "analysis/import/clocks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace pipewright::analysis {
namespace {

using trace::PassKind;

using Key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, PassKind>;

Key key(const NumberedPass& pass, std::uint32_t stage, PassKind kind) {
  return {pass.iteration, stage, pass.microbatch, kind};
}

// What a pass takes from another stage: activations from the one before, gradients from the next.
std::vector<Key> inputs(const NumberedPass& pass) {
  if (pass.kind == PassKind::forward && pass.stage > 0)
    return {key(pass, pass.stage - 1, PassKind::forward)};
  if (pass.kind == PassKind::backward || pass.kind == PassKind::input_grad)
    return {key(pass, pass.stage + 1, PassKind::backward),
            key(pass, pass.stage + 1, PassKind::input_grad)};
  return {};
}

constexpr double tolerance_us = 1;  // of clocks that agree

}  // namespace

std::vector<ClockGap> clock_gaps(const std::vector<NumberedPass>& passes) {
  std::map<Key, const NumberedPass*> by_key;
  for (const NumberedPass& pass : passes) by_key.emplace(key(pass, pass.stage, pass.kind), &pass);
  std::map<std::pair<std::uint32_t, std::uint32_t>, ClockGap> found;
  for (const NumberedPass& pass : passes)
    for (const Key& input : inputs(pass)) {
      const auto producer = by_key.find(input);
      if (producer == by_key.end() || producer->second->device == pass.device) continue;
      const double time = pass.start_us - producer->second->end_us;
      const auto [pair, is_new] = found.try_emplace({producer->second->device, pass.device});
      ClockGap& gap = pair->second;
      if (time < -tolerance_us) ++gap.impossible;
      if (!is_new && time >= gap.least_us) continue;
      gap = {pair->first.first, pair->first.second, time, gap.impossible, *producer->second, pass};
    }
  std::vector<ClockGap> list;
  for (auto& [pair, gap] : found) list.push_back(gap);
  return list;
}

std::vector<double> align_clocks(std::vector<NumberedPass>& passes, std::size_t devices) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> least;
  for (const ClockGap& one : clock_gaps(passes)) least[{one.from, one.to}] = one.least_us;
  // What is to be added to the clock of `to` so that it agrees with that of `from`.
  const auto offset = [&](std::uint32_t from, std::uint32_t to) -> std::optional<double> {
    const auto there = least.find({from, to});
    const auto back = least.find({to, from});
    if (there != least.end() && back != least.end()) return (back->second - there->second) / 2;
    if (there != least.end()) return std::max(0.0, -there->second);
    if (back != least.end()) return std::min(0.0, back->second);
    return std::nullopt;
  };
  std::vector<std::optional<double>> shifts(devices);
  for (std::uint32_t start = 0; start < devices; ++start) {
    if (shifts[start]) continue;
    shifts[start] = 0;
    std::vector<std::uint32_t> reached{start};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (std::uint32_t next = 0; next < devices; ++next)
        if (const auto step = offset(reached[i], next); step && !shifts[next]) {
          shifts[next] = *shifts[reached[i]] + *step;
          reached.push_back(next);
        }
  }
  std::vector<double> result;
  for (const auto& shift : shifts) result.push_back(shift.value_or(0));
  for (NumberedPass& pass : passes) {
    pass.start_us += result[pass.device];
    pass.end_us += result[pass.device];
  }
  return result;
}

}  // namespace pipewright::analysis
