#include "analysis/measured/handovers.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

using ProducerKey = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, PassKind>;
using Producers = std::map<ProducerKey, const NumberedPass*>;

constexpr double clock_tolerance_us = 1;  // Tolerance for clocks that agree.

ProducerKey pass_key(const NumberedPass& pass, std::uint32_t stage, PassKind kind) {
  return {pass.iteration, stage, pass.microbatch, kind};
}

// Returns the passes that produce the inputs of a pass: activations of the previous stage,
// gradients of the next one.
std::vector<ProducerKey> pass_inputs(const NumberedPass& pass) {
  if (pass.kind == PassKind::forward && pass.stage > 0)
    return {pass_key(pass, pass.stage - 1, PassKind::forward)};
  if (makes_gradient(pass.kind))
    return {pass_key(pass, pass.stage + 1, PassKind::backward),
            pass_key(pass, pass.stage + 1, PassKind::input_grad)};
  return {};
}

Producers producers_by_key(const std::vector<NumberedPass>& passes) {
  Producers producers;
  for (const NumberedPass& pass : passes)
    producers.emplace(pass_key(pass, pass.stage, pass.kind), &pass);
  return producers;
}

// Calls `visit` for each pass on another device that computes an input of the given pass.
template <class Visit>
void visit_producers(const Producers& producers, const NumberedPass& pass, Visit visit) {
  for (const ProducerKey& input : pass_inputs(pass))
    if (const auto producer = producers.find(input);
        producer != producers.end() && producer->second->device != pass.device)
      visit(*producer->second);
}

// Returns the smallest shifts that make every handover possible (potentials of Bellman and Ford),
// or none if no shifts do.
std::vector<double> min_shifts(const std::vector<PassHandover>& list, std::size_t devices) {
  std::vector<double> shifts(devices, 0);
  for (std::size_t round = 0; round <= devices; ++round) {
    bool changed = false;
    for (const PassHandover& handover : list) {
      const double needed = shifts[handover.from] - handover.min_us;
      if (shifts[handover.to] >= needed - clock_tolerance_us) continue;
      shifts[handover.to] = needed;
      changed = true;
    }
    if (!changed) return shifts;
  }
  return {};
}

// Returns a shift of each clock that makes the shortest handover times in both directions between
// two devices equal.
std::vector<double> middle_shifts(const std::vector<PassHandover>& list, std::size_t devices) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> min_times;
  for (const PassHandover& handover : list)
    min_times[{handover.from, handover.to}] = handover.min_us;
  // Offset to add to the clock of `to` so that it agrees with that of `from`.
  const auto offset = [&](std::uint32_t from, std::uint32_t to) -> std::optional<double> {
    const auto forward = min_times.find({from, to});
    const auto backward = min_times.find({to, from});
    if (forward != min_times.end() && backward != min_times.end())
      return (backward->second - forward->second) / 2;
    if (forward != min_times.end()) return std::max(0.0, -forward->second);
    if (backward != min_times.end()) return std::min(0.0, backward->second);
    return std::nullopt;
  };
  std::vector<std::optional<double>> shifts(devices);
  for (std::uint32_t start = 0; start < devices; ++start) {
    if (shifts[start]) continue;
    shifts[start] = 0;
    std::vector<std::uint32_t> order{start};
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::uint32_t neighbour = 0; neighbour < devices; ++neighbour)
        if (const auto difference = offset(order[i], neighbour); difference && !shifts[neighbour]) {
          shifts[neighbour] = *shifts[order[i]] + *difference;
          order.push_back(neighbour);
        }
  }
  std::vector<double> result;
  for (const auto& shift : shifts) result.push_back(shift.value_or(0));
  return result;
}

bool shifts_fix(const std::vector<double>& shifts, const std::vector<PassHandover>& list) {
  return std::ranges::none_of(list, [&](const PassHandover& handover) {
    return handover.min_us + shifts[handover.to] - shifts[handover.from] < -clock_tolerance_us;
  });
}

bool is_possible(const PassHandover& handover) { return handover.impossible == 0; }

}  // namespace

std::vector<PassHandover> handovers(const std::vector<NumberedPass>& passes,
                                    const IncludesWaits& waits) {
  const Producers producers = producers_by_key(passes);
  std::map<std::pair<std::uint32_t, std::uint32_t>, PassHandover> by_devices;
  for (const NumberedPass& pass : passes)
    visit_producers(producers, pass, [&](const NumberedPass& producer) {
      const double latest_start = waits[pass.device] ? pass.end_us : pass.start_us;
      const double time = latest_start - producer.end_us;
      const auto [entry, is_new] = by_devices.try_emplace({producer.device, pass.device});
      PassHandover& handover = entry->second;
      if (time < -clock_tolerance_us) ++handover.impossible;
      if (!is_new && time >= handover.min_us) return;
      handover = {producer.device, pass.device, time, handover.impossible, producer, pass};
    });
  std::vector<PassHandover> list;
  for (auto& [devices, handover] : by_devices) list.push_back(handover);
  return list;
}

bool shifts_can_fix(const std::vector<PassHandover>& list, std::size_t devices) {
  return !min_shifts(list, devices).empty();
}

std::vector<double> align_clocks(std::vector<NumberedPass>& passes, const IncludesWaits& waits,
                                 std::size_t devices) {
  const std::vector<PassHandover> list = handovers(passes, waits);
  std::vector<double> shifts(devices, 0);
  // The end of a pass that includes a wait proves only that the input had arrived by then, so such
  // ends shift clocks only if a handover would otherwise be impossible.
  const bool uses_ends = std::ranges::find(waits, true) != waits.end();
  if (!uses_ends || !std::ranges::all_of(list, is_possible)) {
    shifts = middle_shifts(list, devices);
    if (uses_ends || !shifts_fix(shifts, list)) shifts = min_shifts(list, devices);
    if (shifts.empty()) shifts.assign(devices, 0);
  }
  for (NumberedPass& pass : passes) {
    pass.start_us += shifts[pass.device];
    pass.end_us += shifts[pass.device];
  }
  return shifts;
}

std::vector<std::optional<double>> producers_end(const std::vector<NumberedPass>& passes) {
  const Producers producers = producers_by_key(passes);
  std::vector<std::optional<double>> ends;
  for (const NumberedPass& pass : passes) {
    std::optional<double> end;
    visit_producers(producers, pass, [&](const NumberedPass& producer) {
      end = std::max(end.value_or(producer.end_us), producer.end_us);
    });
    ends.push_back(end);
  }
  return ends;
}

}  // namespace pipewright::analysis
