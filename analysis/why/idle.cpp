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
      const PassUnit& unit = index_.units()[number];
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
    const std::uint32_t stage = last_ == no_row ? 0 : trace_.passes[last_].stage;
    reductions(step);
    idle(IdleCause::gradients, step.reduced, stage);  // where the trace has no collectives
    idle(IdleCause::norm, step.synchronized);
    now_ = std::max(now_, step.updated);  // the optimizer's step
    idle(IdleCause::weights, step.end, stage);
  }

  void reductions(const StepRow& step) {
    std::vector<const trace::CollectiveRow*> rows;
    for (auto at = first_ending_after(step.start);
         at != index_.collectives_on(device_).end() &&
         (*at)->end <= step.reduced + time_tolerance(step.reduced);
         ++at)
      if ((*at)->iteration == step.iteration && (*at)->kind != CollectiveKind::gather_weights)
        rows.push_back(*at);
    std::ranges::stable_sort(rows, {}, &trace::CollectiveRow::start);
    for (const trace::CollectiveRow* row : rows) {
      const bool tied = row->kind == CollectiveKind::tie_embeddings;
      idle(IdleCause::peers, std::min(row->start, step.reduced), row->stage);
      idle(tied ? IdleCause::embeddings : IdleCause::gradients, std::min(row->end, step.reduced),
           row->stage);
    }
  }

  // Waits for the one of its inputs that comes last.
  void before(const PassUnit& unit) {
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
    idle(waits_for_weights(unit) ? IdleCause::weights : IdleCause::other, first.start, first.stage,
         first.microbatch);
  }

  // Parts of weights may come while it runs; what it waits for them counts as before it.
  bool waits_for_weights(const PassUnit& unit) const {
    const PassRow& first = trace_.passes[unit.first];
    const PassRow& last = trace_.passes[unit.last];
    const auto& rows = index_.collectives_on(device_);
    for (auto at = first_ending_after(first.start - time_tolerance(first.start));
         at != rows.end() && (*at)->end <= last.end + time_tolerance(last.end); ++at)
      if ((*at)->kind == CollectiveKind::gather_weights &&
          ((*at)->stage == first.stage || (*at)->stage == last.stage))
        return true;
    return false;
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

  // The first of the device's collectives that does not end before.
  std::vector<const trace::CollectiveRow*>::const_iterator first_ending_after(double time) const {
    const auto& rows = index_.collectives_on(device_);
    return std::ranges::lower_bound(rows, time, {}, &trace::CollectiveRow::end);
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
