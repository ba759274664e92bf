#include "analysis/report/why/time_split.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "analysis/report/why/trace_index.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassRow;

// Passes of a device between two times at which its pipeline is empty: those of an iteration, or
// of several where a schedule does not flush between them.
struct Round {
  double start = 0;       // the rounds before have ended on all devices, or its first pass starts
  double first_back = 0;  // its first backward starts
  double last_front = 0;  // its last forward ends
};

// By iteration: when it and all before it are over on all devices.
std::map<std::uint32_t, double> ends_of(const trace::Trace& trace) {
  std::map<std::uint32_t, double> ends;
  const auto see = [&](std::uint32_t iteration, double end) {
    double& last = ends[iteration];
    last = std::max(last, end);
  };
  for (const PassRow& row : trace.passes) see(row.iteration, row.end);
  for (const trace::StepRow& row : trace.steps) see(row.iteration, row.end);
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
    if (row.kind == trace::PassKind::forward) rounds.back().last_front = row.end;
    if (!makes_gradient(row.kind) || has_backward) continue;
    rounds.back().first_back = row.start;
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

// The parts of the bubble, from one idle time after the other.
class Bubbles {
 public:
  Bubbles(std::vector<Round> rounds, TimeSplit& split)
      : rounds_(std::move(rounds)), split_(split) {}

  // In order of time. What lies in two rounds is cut where the second begins.
  void add(Idle idle) {
    while (at_ + 1 < rounds_.size() && rounds_[at_ + 1].start < idle.end) {
      const double cut = std::max(idle.start, rounds_[at_ + 1].start);
      add_in_round(idle, cut);
      idle.start = cut;
      ++at_;
    }
    add_in_round(idle, idle.end);
  }

 private:
  void add_in_round(const Idle& idle, double end) {
    const double seconds = end - idle.start;
    const bool finished = idle.cause == IdleCause::finished;
    if (!finished && (rounds_.empty() || end <= rounds_[at_].first_back + time_tolerance(end)))
      split_.warm_up_s += seconds;
    else if (finished || idle.start >= rounds_[at_].last_front - time_tolerance(idle.start))
      split_.cool_down_s += seconds;
    else
      split_.steady_s += seconds;
  }

  std::vector<Round> rounds_;
  TimeSplit& split_;
  std::size_t at_ = 0;
};

// A device with less to do than the busiest one waits for it where the pipeline is steady, if it
// waits there so long, and else wherever it waits.
void take_out_imbalance(double missing, TimeSplit& split) {
  if (missing < 1e-9 * split.computing_s()) return;  // a rounding
  missing = std::min(missing, split.warm_up_s + split.steady_s + split.cool_down_s);
  split.imbalance_s = missing;
  const double of_steady = std::min(missing, split.steady_s);
  split.steady_s -= of_steady;
  const double ends = split.warm_up_s + split.cool_down_s;
  if (ends <= 0) return;
  const double left = std::max(0.0, 1 - (missing - of_steady) / ends);
  split.warm_up_s *= left;
  split.cool_down_s *= left;
}

}  // namespace

double TimeSplit::computing_s() const {
  return std::accumulate(compute_s.begin(), compute_s.end(), 0.0);
}

std::vector<TimeSplit> time_splits(const TraceIndex& index) {
  const trace::Trace& trace = index.trace();
  std::vector<TimeSplit> splits(trace.devices.size());
  std::vector<Bubbles> bubbles;
  const std::map<std::uint32_t, double> ends = ends_of(trace);
  for (std::uint32_t device = 0; device < splits.size(); ++device) {
    splits[device].device = device;
    add_passes(index, device, splits[device]);
    bubbles.emplace_back(rounds_of(index, device, ends), splits[device]);
  }
  std::map<std::uint32_t, double> all_reduced;  // by iteration
  for (const trace::StepRow& row : trace.steps) {
    splits[row.device].optimizer_s += std::max(0.0, row.updated - row.synchronized);
    double& last = all_reduced[row.iteration];
    last = std::max(last, row.reduced);
  }
  for (const Idle& idle : idle_times(index)) {
    TimeSplit& split = splits[idle.device];
    const double seconds = idle.end - idle.start;
    switch (idle.cause) {
      case IdleCause::transfer:
      case IdleCause::rendezvous:
      case IdleCause::blocked_send:
        split.p2p_s += seconds;
        break;
      case IdleCause::weights:
        split.weights_s += seconds;
        break;
      case IdleCause::gradients:
        split.gradients_s += seconds;
        break;
      case IdleCause::embeddings:
        split.embeddings_s += seconds;
        break;
      case IdleCause::norm: {
        // Until the last device has its gradients, this one waits for that one's passes.
        const trace::StepRow* step = index.step_at(idle.device, idle.end);
        const double last = step == nullptr ? idle.start : all_reduced[step->iteration];
        const double waits = std::clamp(last - idle.start, 0.0, seconds);
        split.cool_down_s += waits;
        split.norm_s += seconds - waits;
        break;
      }
      case IdleCause::input:
      case IdleCause::peers:
      case IdleCause::finished:
      case IdleCause::other:
        bubbles[idle.device].add(idle);
        break;
    }
  }
  double busiest = 0;
  const auto work = [](const TimeSplit& split) {
    return split.computing_s() + split.in_passes_s + split.optimizer_s;
  };
  for (const TimeSplit& split : splits) busiest = std::max(busiest, work(split));
  for (TimeSplit& split : splits) take_out_imbalance(busiest - work(split), split);
  return splits;
}

}  // namespace pipewright::analysis
