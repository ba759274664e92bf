#include "sim/cli/schedule/recognise.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedules/families/catalog.hpp"

namespace pipewright::cli {
namespace {

using schedules::Pass;
using schedules::Schedule;

// Order of passes on each device, whether or not two passes are joined into a pair.
std::vector<std::vector<Pass>> orders_of(const Schedule& schedule) {
  std::vector<std::vector<Pass>> orders;
  for (const schedules::Program& program : schedule.programs) {
    orders.push_back(schedules::passes_of(program));
    for (Pass& pass : orders.back()) pass.fused = false;
  }
  return orders;
}

struct CatalogMatch {
  const schedules::Entry* entry = nullptr;
  bool has_extra_forward = false;  // one more forward in flight, as pairs need
};

CatalogMatch recognise(const Schedule& schedule) {
  const auto orders = orders_of(schedule);
  for (const bool pairs : {false, true})
    for (const schedules::Entry& entry : schedules::catalog()) {
      if (entry.takes(&schedules::Parameters::slices)) continue;
      if (pairs && !entry.takes(&schedules::Parameters::fused)) continue;
      schedules::Parameters parameters{.devices = schedule.devices,
                                       .microbatches = schedule.microbatches};
      if (entry.takes(&schedules::Parameters::chunks)) parameters.chunks = schedule.chunks;
      if (pairs) parameters.fused = 1;
      try {
        const Schedule match = schedules::make_schedule(entry.name, parameters);
        if (match.chunks == schedule.chunks && orders_of(match) == orders) return {&entry, pairs};
      } catch (const schedules::Error&) {
        continue;  // the schedule is impossible at these sizes
      }
    }
  return {};
}

bool has_pairs(const Schedule& schedule) {
  return std::ranges::any_of(schedule.programs, [](const schedules::Program& program) {
    return std::ranges::any_of(schedules::passes_of(program), &Pass::fused);
  });
}

}  // namespace

std::vector<std::string> notes_on(const Schedule& schedule) {
  std::vector<std::string> notes;
  const CatalogMatch match = recognise(schedule);
  if (match.entry != nullptr)
    notes.push_back(fmt::format("order: {}{}", match.entry->name,
                                match.has_extra_forward
                                    ? " with one more forward ahead, as Megatron-LM runs it with "
                                      "overlap_moe_expert_parallel_comm (--fused)"
                                    : ""));
  if (has_pairs(schedule))
    notes.emplace_back(
        "PyTorch runs the F and the B of OVERLAP_F_B one after the other, unless a function is "
        "registered for it");
  return notes;
}

}  // namespace pipewright::cli
