#include "analysis/report/why/time_split.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "analysis/report/why/trace_index.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassRow;

// A stretch of time between two moments at which the pipeline of a device is empty: one iteration,
// or several if the schedule does not flush the pipeline between them.
struct Round {
  double start = 0;  // end of the previous rounds on all devices, or start of the first pass
  double first_backward_start = 0;
  double last_forward_end = 0;
};

// Returns for each iteration the time at which it and all earlier iterations have ended on all
// devices.
std::map<std::uint32_t, double> iteration_ends(const trace::Trace& trace) {
  std::map<std::uint32_t, double> ends;
  const auto add = [&](std::uint32_t iteration, double end) {
    double& last = ends[iteration];
    last = std::max(last, end);
  };
  for (const PassRow& row : trace.passes) add(row.iteration, row.end);
  for (const trace::StepRow& row : trace.steps) add(row.iteration, row.end);
  double last = 0;
  for (auto& [iteration, end] : ends) last = end = std::max(last, end);
  return ends;
}

std::vector<Round> rounds_of(const TraceIndex& index, std::uint32_t device,
                             const std::map<std::uint32_t, double>& ends) {
  std::vector<const PassRow*> rows;
  for (const std::uint32_t number : index.units_on(device)) {
    const PassUnit& unit = index.units()[number];
    rows.push_back(&index.trace().passes[unit.first]);
    if (unit.is_fused()) rows.push_back(&index.trace().passes[unit.last]);
  }
  std::vector<std::uint32_t> later(rows.size() + 1, std::numeric_limits<std::uint32_t>::max());
  for (std::size_t i = rows.size(); i-- > 0;) later[i] = std::min(later[i + 1], rows[i]->iteration);
  std::vector<Round> rounds;
  std::uint32_t before = 0;
  bool has_backward = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PassRow& row = *rows[i];
    if (i == 0 || before < later[i]) {
      const double over = i == 0 ? 0 : ends.at(before);
      rounds.push_back({std::min(over, row.start), row.start, row.start});
      has_backward = false;
    }
    before = std::max(before, row.iteration);
    if (row.kind == trace::PassKind::forward) rounds.back().last_forward_end = row.end;
    if (!makes_gradient(row.kind) || has_backward) continue;
    rounds.back().first_backward_start = row.start;
    has_backward = true;
  }
  return rounds;
}

void add_passes(const TraceIndex& index, std::uint32_t device, TimeSplit& split) {
  for (const std::uint32_t number : index.units_on(device)) {
    const PassUnit& unit = index.units()[number];
    for (std::size_t pass = unit.first;; pass = unit.last) {
      const PassRow& row = index.trace().passes[pass];
      const double seconds = index.own_seconds(pass);
      const double waits = index.exposed_within(pass);
      split.in_passes_s += waits;
      split.compute_s.at(static_cast<std::size_t>(row.kind)) += seconds - waits;
      if (pass == unit.last) break;
    }
  }
}

// Splits the bubble of one device into the parts that TimeSplit lists.
class Bubbles {
 public:
  Bubbles(std::vector<Round> rounds, TimeSplit& split)
      : rounds_(std::move(rounds)), split_(split) {}

  // Adds idle times in order of time. An idle time in two rounds is cut at the start of the second.
  void add(Idle idle) {
    while (round_ + 1 < rounds_.size() && rounds_[round_ + 1].start < idle.end) {
      const double cut = std::max(idle.start, rounds_[round_ + 1].start);
      add_in_round(idle, cut);
      idle.start = cut;
      ++round_;
    }
    add_in_round(idle, idle.end);
  }

 private:
  void add_in_round(const Idle& idle, double end) {
    const double seconds = end - idle.start;
    const bool finished = idle.cause == IdleCause::finished;
    if (!finished &&
        (rounds_.empty() || end <= rounds_[round_].first_backward_start + time_tolerance(end)))
      split_.warm_up_s += seconds;
    else if (finished ||
             idle.start >= rounds_[round_].last_forward_end - time_tolerance(idle.start))
      split_.cool_down_s += seconds;
    else
      split_.steady_s += seconds;
  }

  std::vector<Round> rounds_;
  TimeSplit& split_;
  std::size_t round_ = 0;
};

// Moves the work that a device has less than the busiest device from its waits to the imbalance:
// from the steady state as far as that has waits, then from all other waits.
void separate_imbalance(double missing, TimeSplit& split) {
  if (missing < 1e-9 * split.computing_s()) return;  // a rounding error
  missing = std::min(missing, split.warm_up_s + split.steady_s + split.cool_down_s);
  split.imbalance_s = missing;
  const double of_steady = std::min(missing, split.steady_s);
  split.steady_s -= of_steady;
  const double ends = split.warm_up_s + split.cool_down_s;
  if (ends <= 0) return;
  const double remaining = std::max(0.0, 1 - (missing - of_steady) / ends);
  split.warm_up_s *= remaining;
  split.cool_down_s *= remaining;
}

}  // namespace

double TimeSplit::computing_s() const {
  return std::accumulate(compute_s.begin(), compute_s.end(), 0.0);
}

// Moments at which devices of the trace's replica stop waiting for other replicas.
class OtherReplicas {
 public:
  explicit OtherReplicas(const TraceIndex& index) {
    const trace::Trace& trace = index.trace();
    std::map<std::uint32_t, double> step_ends;  // by iteration
    for (const trace::StepRow& row : trace.steps) {
      // A reduction that waits for another replica does not make this one late.
      const double ready = waits_in_step(index, row) ? row.start : row.reduced;
      last_ready_[row.iteration] = std::max(last_ready_[row.iteration], ready);
      norm_[row.iteration] = std::max(norm_[row.iteration], row.reduced);
      step_ends[row.iteration] = std::max(step_ends[row.iteration], row.end);
    }
    own_end_ = step_ends.empty() ? std::numeric_limits<double>::infinity() : 0;
    for (const auto& [iteration, end] : step_ends) own_end_ = std::max(own_end_, end);
    for (const trace::WaitRow& row : trace.waits) {
      if (row.event == trace::WaitEvent::norm)
        norm_[row.iteration] = std::max(norm_[row.iteration], row.time);
      if (row.event == trace::WaitEvent::reduce_gradients) starts_.push_back(row.time);
    }
    std::ranges::sort(starts_);
  }

  // Time at which the last device of this replica has its gradients, or waits for those of another
  // replica.
  double last_ready(std::uint32_t iteration) const { return last_ready_.at(iteration); }
  // Time at which the last device of all replicas has its gradients.
  double norm_starts(std::uint32_t iteration) const { return norm_.at(iteration); }
  // True if a device of another replica is ready at this time, as the last one of a reduction.
  bool starts_reduction(double time) const {
    const auto it = std::ranges::lower_bound(starts_, time - time_tolerance(time));
    return it != starts_.end() && *it <= time + time_tolerance(time);
  }
  // Time at which this replica has finished its last step.
  double own_end() const { return own_end_; }

 private:
  static bool waits_in_step(const TraceIndex& index, const trace::StepRow& step) {
    return std::ranges::any_of(index.trace().waits, [&](const trace::WaitRow& wait) {
      const auto is_reduction = [&](const trace::CollectiveRow* row) {
        return row->kind == trace::CollectiveKind::reduce_gradients && row->stage == wait.stage &&
               row->iteration == wait.iteration;
      };
      return wait.event == trace::WaitEvent::reduce_gradients && wait.iteration == step.iteration &&
             wait.time > step.start &&
             std::ranges::any_of(index.collectives_on(step.device), is_reduction);
    });
  }

  std::map<std::uint32_t, double> last_ready_;  // by iteration
  std::map<std::uint32_t, double> norm_;
  std::vector<double> starts_;
  double own_end_ = 0;
};

namespace {

// Adds the wait of a device for the gradient norm: first for slower devices until the last one has
// its gradients, then for slower replicas, and the rest for the norm itself.
void add_norm_wait(const TraceIndex& index, const OtherReplicas& replicas, const Idle& idle,
                   TimeSplit& split) {
  const double seconds = idle.end - idle.start;
  const trace::StepRow* step = index.step_at(idle.device, idle.end);
  const bool has_step = step != nullptr;
  const double last = has_step ? replicas.last_ready(step->iteration) : idle.start;
  const double starts = has_step ? replicas.norm_starts(step->iteration) : idle.start;
  const double waits = std::clamp(last - idle.start, 0.0, seconds);
  const double waits_for_all = std::clamp(starts - idle.start, waits, seconds);
  split.cool_down_s += waits;
  split.replicas_s += waits_for_all - waits;
  split.norm_s += seconds - waits_for_all;
}

// Adds an idle time of a device to the part of its time that the cause names; idle times of the
// pipeline go to its bubbles.
void add_idle(const TraceIndex& index, const OtherReplicas& replicas, const Idle& idle,
              Bubbles& bubbles, TimeSplit& split) {
  const double seconds = idle.end - idle.start;
  switch (idle.cause) {
    case IdleCause::transfer:
    case IdleCause::rendezvous:
    case IdleCause::blocked_send:
      split.p2p_s += seconds;
      return;
    case IdleCause::weights:
      split.weights_s += seconds;
      return;
    case IdleCause::gradients:
      split.gradients_s += seconds;
      return;
    case IdleCause::embeddings:
      split.embeddings_s += seconds;
      return;
    case IdleCause::norm:
      return add_norm_wait(index, replicas, idle, split);
    case IdleCause::peers:
      if (replicas.starts_reduction(idle.end))
        split.replicas_s += seconds;
      else
        bubbles.add(idle);
      return;
    case IdleCause::finished: {
      Idle until_own_end = idle;
      until_own_end.end = std::clamp(replicas.own_end(), idle.start, idle.end);
      split.replicas_s += idle.end - until_own_end.end;
      if (until_own_end.end > until_own_end.start) bubbles.add(until_own_end);
      return;
    }
    case IdleCause::input:
    case IdleCause::other:
      return bubbles.add(idle);
  }
}

}  // namespace

std::vector<TimeSplit> time_splits(const TraceIndex& index) {
  const trace::Trace& trace = index.trace();
  std::vector<TimeSplit> splits(trace.devices.size());
  std::vector<Bubbles> bubbles;
  const std::map<std::uint32_t, double> ends = iteration_ends(trace);
  for (std::uint32_t device = 0; device < splits.size(); ++device) {
    splits[device].device = device;
    add_passes(index, device, splits[device]);
    bubbles.emplace_back(rounds_of(index, device, ends), splits[device]);
  }
  for (const trace::StepRow& row : trace.steps)
    splits[row.device].optimizer_s += std::max(0.0, row.updated - row.synchronized);
  const OtherReplicas replicas(index);
  for (const Idle& idle : idle_times(index))
    add_idle(index, replicas, idle, bubbles[idle.device], splits[idle.device]);
  double busiest = 0;
  const auto work = [](const TimeSplit& split) {
    return split.computing_s() + split.in_passes_s + split.optimizer_s;
  };
  for (const TimeSplit& split : splits) busiest = std::max(busiest, work(split));
  for (TimeSplit& split : splits) separate_imbalance(busiest - work(split), split);
  return splits;
}

}  // namespace pipewright::analysis
