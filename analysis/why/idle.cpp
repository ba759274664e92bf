#include "analysis/why/idle.hpp"

#include <algorithm>

#include "analysis/why/trace_index.hpp"

namespace pipewright::analysis {
namespace {

using trace::CollectiveKind;
using trace::PassRow;
using trace::StepRow;

// Lists the idle times of one device, from 0 on.
class DeviceIdle {
 public:
  DeviceIdle(const trace::Trace& trace, const TraceIndex& index, std::uint32_t device,
             std::vector<Idle>& into)
      : trace_(trace), index_(index), device_(device), into_(into) {}

  void list() {
    const auto& steps = index_.steps_on(device_);
    auto step = steps.begin();
    for (const std::uint32_t number : index_.units_on(device_)) {
      const Unit& unit = index_.units()[number];
      const double start = trace_.passes[unit.first].start;
      while (step != steps.end() && (*step)->end <= start + time_tolerance(start))
        before_and_in(**step++);
      before(unit);
      last_ = unit.last;
      now_ = std::max(now_, trace_.passes[unit.first].end);
    }
    while (step != steps.end()) before_and_in(**step++);
    idle(IdleCause::finished, index_.makespan());
  }

 private:
  void idle(IdleCause cause, double end, std::uint32_t stage = 0, std::uint32_t microbatch = 0) {
    if (end - now_ <= time_tolerance(end)) return;
    into_.push_back({device_, cause, now_, end, stage, microbatch});
    now_ = end;
  }

  void blocked(double until) {
    if (last_ == no_row) return;
    const PassRow& row = trace_.passes[last_];
    idle(IdleCause::blocked_send, std::min(row.released, until), row.stage, row.microbatch);
  }

  void before_and_in(const StepRow& step) {
    blocked(step.start);
    idle(IdleCause::other, step.start);
    // Tied embeddings come last.
    const trace::CollectiveRow* tied = ending_at(step.reduced, CollectiveKind::tie_embeddings);
    const std::uint32_t stage = last_ == no_row ? 0 : trace_.passes[last_].stage;
    idle(IdleCause::gradients,
         tied == nullptr ? step.reduced : std::min(tied->posted, step.reduced), stage);
    idle(IdleCause::embeddings, step.reduced, tied == nullptr ? 0 : tied->stage);
    idle(IdleCause::norm, step.synchronized);
    now_ = std::max(now_, step.updated);  // the optimizer's step
    idle(IdleCause::weights, step.end, stage);
  }

  // Waits for the one of its inputs that comes last.
  void before(const Unit& unit) {
    const PassRow& first = trace_.passes[unit.first];
    blocked(first.start);
    const PassRow& second = trace_.passes[unit.last];
    if (unit.is_fused() && second.ready < first.ready) {
      wait_for(second);
      wait_for(first);
    } else {
      wait_for(first);
      if (unit.is_fused()) wait_for(second);
    }
    const bool gathers = ending_at(first.start, CollectiveKind::gather_weights) != nullptr;
    idle(gathers ? IdleCause::weights : IdleCause::other, first.start, first.stage,
         first.microbatch);
  }

  void wait_for(const PassRow& row) {
    const std::size_t producer = index_.producer(row);
    const std::uint32_t stage = producer == no_row ? row.stage : trace_.passes[producer].stage;
    const double ready = std::min(row.ready, row.start);
    idle(IdleCause::input, std::min(row.sent, ready), stage, row.microbatch);
    const std::size_t transfer = index_.transfer_to(row);
    if (transfer != no_row)
      idle(IdleCause::rendezvous, std::min(trace_.transfers[transfer].start, ready), stage,
           row.microbatch);
    idle(IdleCause::transfer, ready, stage, row.microbatch);
  }

  // A collective of the device that ends then, or null.
  const trace::CollectiveRow* ending_at(double time, CollectiveKind kind) const {
    const auto& rows = index_.collectives_on(device_);
    auto at = std::lower_bound(
        rows.begin(), rows.end(), time - time_tolerance(time),
        [](const trace::CollectiveRow* row, double limit) { return row->end < limit; });
    for (; at != rows.end() && (*at)->end <= time + time_tolerance(time); ++at)
      if ((*at)->kind == kind) return *at;
    return nullptr;
  }

  const trace::Trace& trace_;
  const TraceIndex& index_;
  std::uint32_t device_;
  std::vector<Idle>& into_;
  double now_ = 0;
  std::size_t last_ = no_row;  // pass that ran
};

}  // namespace

std::vector<Idle> idle_times(const trace::Trace& trace) {
  return idle_times(trace, TraceIndex(trace));
}

std::vector<Idle> idle_times(const trace::Trace& trace, const TraceIndex& index) {
  std::vector<Idle> all;
  for (std::uint32_t device = 0; device < trace.devices.size(); ++device)
    DeviceIdle(trace, index, device, all).list();
  return all;
}

}  // namespace pipewright::analysis
