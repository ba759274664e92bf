#include "analysis/measured/handovers.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

using Key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, PassKind>;
using Producers = std::map<Key, const NumberedPass*>;

constexpr double tolerance_us = 1;  // of clocks that agree

Key key(const NumberedPass& pass, std::uint32_t stage, PassKind kind) {
  return {pass.iteration, stage, pass.microbatch, kind};
}

// What a pass takes from another stage: activations from the one before, gradients from the next.
std::vector<Key> inputs(const NumberedPass& pass) {
  if (pass.kind == PassKind::forward && pass.stage > 0)
    return {key(pass, pass.stage - 1, PassKind::forward)};
  if (makes_gradient(pass.kind))
    return {key(pass, pass.stage + 1, PassKind::backward),
            key(pass, pass.stage + 1, PassKind::input_grad)};
  return {};
}

Producers by_key(const std::vector<NumberedPass>& passes) {
  Producers found;
  for (const NumberedPass& pass : passes) found.emplace(key(pass, pass.stage, pass.kind), &pass);
  return found;
}

// Calls `visit` with the passes on other devices that a pass takes its input from.
template <class Visit>
void visit_producers(const Producers& known, const NumberedPass& pass, Visit visit) {
  for (const Key& input : inputs(pass))
    if (const auto found = known.find(input);
        found != known.end() && found->second->device != pass.device)
      visit(*found->second);
}

// Shifts that leave no handover impossible (Bellman and Ford's potentials); empty if none do.
std::vector<double> least_shifts(const std::vector<PassHandover>& found, std::size_t devices) {
  std::vector<double> shifts(devices, 0);
  for (std::size_t round = 0; round <= devices; ++round) {
    bool changed = false;
    for (const PassHandover& one : found) {
      const double needed = shifts[one.from] - one.least_us;
      if (shifts[one.to] >= needed - tolerance_us) continue;
      shifts[one.to] = needed;
      changed = true;
    }
    if (!changed) return shifts;
  }
  return {};
}

// Halves what there is to spare between devices that hand over both ways.
std::vector<double> middle_shifts(const std::vector<PassHandover>& found, std::size_t devices) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> least;
  for (const PassHandover& one : found) least[{one.from, one.to}] = one.least_us;
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
  return result;
}

bool mend(const std::vector<double>& shifts, const std::vector<PassHandover>& found) {
  return std::ranges::none_of(found, [&](const PassHandover& one) {
    return one.least_us + shifts[one.to] - shifts[one.from] < -tolerance_us;
  });
}

bool is_possible(const PassHandover& one) { return one.impossible == 0; }

}  // namespace

std::vector<PassHandover> handovers(const std::vector<NumberedPass>& passes,
                                    const HoldsWaits& waits) {
  const Producers known = by_key(passes);
  std::map<std::pair<std::uint32_t, std::uint32_t>, PassHandover> found;
  for (const NumberedPass& pass : passes)
    visit_producers(known, pass, [&](const NumberedPass& producer) {
      const double begun = waits[pass.device] ? pass.end_us : pass.start_us;
      const double time = begun - producer.end_us;
      const auto [pair, is_new] = found.try_emplace({producer.device, pass.device});
      PassHandover& least = pair->second;
      if (time < -tolerance_us) ++least.impossible;
      if (!is_new && time >= least.least_us) return;
      least = {producer.device, pass.device, time, least.impossible, producer, pass};
    });
  std::vector<PassHandover> list;
  for (auto& [pair, one] : found) list.push_back(one);
  return list;
}

bool shifts_can_mend(const std::vector<PassHandover>& found, std::size_t devices) {
  return !least_shifts(found, devices).empty();
}

std::vector<double> align_clocks(std::vector<NumberedPass>& passes, const HoldsWaits& waits,
                                 std::size_t devices) {
  const std::vector<PassHandover> found = handovers(passes, waits);
  std::vector<double> shifts(devices, 0);
  // The end of a pass that waited says no more than that its input was there.
  const bool by_ends = std::ranges::find(waits, true) != waits.end();
  if (!by_ends || !std::ranges::all_of(found, is_possible)) {
    shifts = middle_shifts(found, devices);
    if (by_ends || !mend(shifts, found)) shifts = least_shifts(found, devices);
    if (shifts.empty()) shifts.assign(devices, 0);
  }
  for (NumberedPass& pass : passes) {
    pass.start_us += shifts[pass.device];
    pass.end_us += shifts[pass.device];
  }
  return shifts;
}

std::vector<std::optional<double>> producers_end(const std::vector<NumberedPass>& passes) {
  const Producers known = by_key(passes);
  std::vector<std::optional<double>> ends;
  for (const NumberedPass& pass : passes) {
    std::optional<double> end;
    visit_producers(known, pass, [&](const NumberedPass& producer) {
      end = std::max(end.value_or(producer.end_us), producer.end_us);
    });
    ends.push_back(end);
  }
  return ends;
}

}  // namespace pipewright::analysis
