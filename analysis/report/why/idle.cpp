#include <algorithm>

#include "analysis/report/why/time_split.hpp"
#include "analysis/report/why/trace_index.hpp"

namespace pipewright::analysis {
namespace {

using trace::CollectiveKind;
using trace::PassRow;
using trace::StepRow;

// Lists the idle times of one device, from the start of the run on.
class DeviceIdle {
 public:
  DeviceIdle(const TraceIndex& index, std::uint32_t device, std::vector<Idle>& into)
      : trace_(index.trace()), index_(index), device_(device), into_(into) {}

  void list() {
    const auto& steps = index_.steps_on(device_);
    auto step = steps.begin();
    for (const std::uint32_t number : index_.units_on(device_)) {
      const PassUnit& unit = index_.units()[number];
      const double start = trace_.passes[unit.first].start;
      while (step != steps.end() && (*step)->end <= start + time_tolerance(start))
        list_step(**step++);
      list_gap(unit);
      last_ = unit.last;
      now_ = std::max(now_, trace_.passes[unit.first].end);
    }
    while (step != steps.end()) list_step(**step++);
    idle(IdleCause::finished, index_.makespan());
  }

 private:
  void idle(IdleCause cause, double end, std::uint32_t stage = 0, std::uint32_t microbatch = 0) {
    if (end - now_ <= time_tolerance(end)) return;
    into_.push_back({device_, cause, now_, end, stage, microbatch});
    now_ = end;
  }

  // Records idle time until `end` in which the device waits for its own send.
  void wait_for_send(double end) {
    if (last_ != no_row) idle(IdleCause::blocked_send, end, last().stage, last().microbatch);
  }

  // Lists the idle times of the device before an optimizer step and within it.
  void list_step(const StepRow& step) {
    if (last_ != no_row) wait_for_send(std::min(last().released, step.start));
    idle(IdleCause::other, step.start);
    const std::uint32_t stage = last_ == no_row ? 0 : last().stage;
    std::vector<Reduction> reductions = reductions_of(step);
    cut_step(step, reductions, [&](IdleCause cause, double end, const Reduction* reduction) {
      const bool has_no_stage = cause == IdleCause::norm;
      idle(cause, end, reduction != nullptr ? reduction->stage : has_no_stage ? 0 : stage);
    });
    now_ = std::max(now_, step.updated);  // the optimizer's step
    idle(IdleCause::weights, step.end, stage);
  }

  std::vector<Reduction> reductions_of(const StepRow& step) const {
    std::vector<Reduction> reductions;
    for (auto it = first_ending_after(step.start);
         it != index_.collectives_on(device_).end() &&
         (*it)->end <= step.reduced + time_tolerance(step.reduced);
         ++it)
      if ((*it)->iteration == step.iteration && (*it)->kind != CollectiveKind::gather_weights)
        reductions.push_back({(*it)->start, (*it)->end, (*it)->stage,
                              (*it)->kind == CollectiveKind::tie_embeddings});
    return reductions;
  }

  // Lists the idle times of the device before a unit, which is a pass or a fused pair.
  void list_gap(const PassUnit& unit) {
    const PassRow& first = trace_.passes[unit.first];
    const PassRow& second = trace_.passes[unit.last];
    const Gap gap{.start = now_,
                  .released = last_ == no_row ? 0 : last().released,
                  .end = first.start,
                  .inputs = {{{first.sent, first.ready}, {second.sent, second.ready}}},
                  .number_inputs = unit.is_fused() ? 2U : 1U};
    cut_gap(gap, [&](IdleCause cause, double end, std::size_t input) {
      if (cause == IdleCause::blocked_send)
        wait_for_send(end);
      else
        wait_for(input == 0 ? first : second, cause, end);
    });
    idle(waits_for_weights(unit) ? IdleCause::weights : IdleCause::other, first.start, first.stage,
         first.microbatch);
  }

  // Waits of a running pass for parts of its weights count as time before the pass, so gathering
  // may end during the pass.
  bool waits_for_weights(const PassUnit& unit) const {
    const PassRow& first = trace_.passes[unit.first];
    const PassRow& last = trace_.passes[unit.last];
    const auto& rows = index_.collectives_on(device_);
    for (auto it = first_ending_after(first.start - time_tolerance(first.start));
         it != rows.end() && (*it)->end <= last.end + time_tolerance(last.end); ++it)
      if ((*it)->kind == CollectiveKind::gather_weights &&
          ((*it)->stage == first.stage || (*it)->stage == last.stage))
        return true;
    return false;
  }

  // The device waits until `end` for the input of a pass: for its producer or for its transfer,
  // which may begin with a rendezvous.
  void wait_for(const PassRow& row, IdleCause cause, double end) {
    if (end <= now_) return;  // the usual case
    const std::size_t producer = index_.producer(row);
    const std::uint32_t stage = producer == no_row ? row.stage : trace_.passes[producer].stage;
    const std::size_t transfer = index_.transfer_to(row);
    if (cause == IdleCause::transfer && transfer != no_row)
      idle(IdleCause::rendezvous, std::min(trace_.transfers[transfer].start, end), stage,
           row.microbatch);
    idle(cause, end, stage, row.microbatch);
  }

  // Returns the first collective of the device that ends at `time` or later.
  std::vector<const trace::CollectiveRow*>::const_iterator first_ending_after(double time) const {
    const auto& rows = index_.collectives_on(device_);
    return std::ranges::lower_bound(rows, time, {}, &trace::CollectiveRow::end);
  }

  const PassRow& last() const { return trace_.passes[last_]; }

  const trace::Trace& trace_;
  const TraceIndex& index_;
  std::uint32_t device_;
  std::vector<Idle>& into_;
  double now_ = 0;
  std::size_t last_ = no_row;  // last pass so far
};

}  // namespace

std::vector<Idle> idle_times(const TraceIndex& index) {
  std::vector<Idle> idle_times;
  for (std::uint32_t device = 0; device < index.trace().devices.size(); ++device)
    DeviceIdle(index, device, idle_times).list();
  return idle_times;
}

}  // namespace pipewright::analysis
