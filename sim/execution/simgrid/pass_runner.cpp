#include "sim/execution/simgrid/pass_runner.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "sim/execution/milestones.hpp"

namespace pipewright::execution {

using schedules::Pass;

namespace {

// True for a fused pair whose duration is computed from the work on its two streams, instead of
// given.
bool has_streams(const Job& job, const Pass* partner) {
  return partner != nullptr && !job.costs.times.has_pair_times();
}

// Seconds of collectives that a fused pair of given duration hides, because those of one pass run
// beside compute of the other.
double saved_exposed(const workload::StageCosts& costs, const Pass& pass, const Pass& partner) {
  const double exposed =
      costs.of(costs.collective_waits, pass) + costs.of(costs.collective_waits, partner);
  return costs.times.fused.empty() ? std::max(0.0, 1 - costs.times.overlap.value_or(1)) * exposed
                                   : exposed;
}

std::vector<Slot> slots_of(const DeviceContext& device, const Pass& pass, const Pass* partner,
                           const std::function<bool(const workload::Call&)>& is_selected) {
  std::vector<Slot> slots;
  for (const Pass* const member : {&pass, partner})
    if (member != nullptr)
      for (const workload::Call& call :
           calls_of(device.job, device.replica_groups, device.self, *member))
        if (is_selected(call))
          slots.insert(slots.end(), call.times,
                       {call, call.overlappable_compute / call.times, member == partner});
  return slots;
}

// Collectives that run in turn with `compute` seconds of a pass or a pair, each with the compute
// beside it. In total they overlap with no more than that compute.
std::vector<Slot> slots_beside(const DeviceContext& device, const Pass& pass, const Pass* partner,
                               double compute) {
  const Job& job = device.job;
  const bool streams = has_streams(job, partner);
  std::vector<Slot> slots = slots_of(device, pass, partner, [&](const workload::Call& call) {
    return !streams || !job.half_in_pair(call);
  });
  double bytes = 0;
  for (const Slot& slot : slots) bytes += static_cast<double>(slot.call.bytes);
  const double saved =
      partner != nullptr && !streams && bytes > 0 ? saved_exposed(job.costs, pass, *partner) : 0;
  double total = 0;
  for (Slot& slot : slots) {
    if (saved > 0) slot.overlap += saved * static_cast<double>(slot.call.bytes) / bytes;
    total += slot.overlap;
  }
  if (total > compute)
    for (Slot& slot : slots) slot.overlap *= compute / total;
  return slots;
}

}  // namespace

// Runs the work of a pass or a fused pair step by step, and keeps track of its progress.
class PassRunner::PassProgress {
 public:
  PassProgress(PassRunner& runner, const schedules::PassCursor& at, const Pass& pass,
               const Pass* partner, double start)
      : runner_(runner),
        at_(at),
        pass_(pass),
        partner_(partner),
        last_(partner != nullptr && ends_microbatch(partner->kind) ? *partner : pass),
        work_(runner.work_of(pass, partner)),
        milestones_(runner.gradients_.parts(last_), runner.weights_.parts(pass),
                    partner == nullptr ? 0 : runner.weights_.parts_of_second(pass, *partner)),
        now_(start),
        start_(start) {}

  const PassWork& work() const { return work_; }
  double now() const { return now_; }
  void wait_until(double time) { now_ = std::max(now_, time); }
  // Waits until `time`. Collectives do not prolong this wait.
  void stretch_to(double time) {
    constexpr double rounding = 1e-12;
    if (time - now_ > rounding * now_) now_ = runner_.device_.clock.advance(now_, time - now_, 0);
  }

  // Runs the next `seconds` of the work, and handles the milestones in them.
  void run(double seconds) {
    constexpr double rounding = 1 + 1e-12;
    const double until = done_ + seconds;
    for (Milestone due = milestones_.next();
         due.kind != Milestone::Kind::none && due.share() * work_.seconds <= until * rounding;
         due = milestones_.next()) {
      advance(due.share() * work_.seconds - done_);
      reach(due);
    }
    advance(until - done_);
  }

  Interval finish() {
    for (Milestone due = milestones_.next(); due.kind != Milestone::Kind::none;
         due = milestones_.next())
      reach(due);
    stretch_to(start_ + work_.min_seconds);  // the remaining time of the host
    return {start_, now_};
  }

 private:
  void advance(double seconds) {
    seconds = std::max(0.0, seconds);
    now_ = runner_.device_.clock.advance(now_, seconds, work_.excess);
    done_ += seconds;
  }

  void reach(const Milestone& due) {
    milestones_.pop(due);
    if (due.kind == Milestone::Kind::gradients) {
      runner_.gradients_.reduce(last_, due.part, now_);
      return;
    }
    const double time = runner_.weights_.wait(due.of_partner ? *partner_ : pass_, due.part, now_);
    start_ += time - now_;
    now_ = time;
    if (milestones_.needs_more_weights()) return;
    schedules::PassCursor next = at_;
    for (int passes = partner_ == nullptr ? 1 : 2; passes > 0; --passes) next.next();
    runner_.weights_.prefetch(next);
  }

  PassRunner& runner_;
  const schedules::PassCursor& at_;
  const Pass& pass_;
  const Pass* partner_;
  Pass last_;  // the pass that produces gradients, if any
  PassWork work_;
  Milestones milestones_;
  double now_;
  double start_;
  double done_ = 0;  // seconds of work
};

PassRunner::Interval PassRunner::run(const schedules::PassCursor& at, const Pass& pass,
                                     const Pass* partner, double start) {
  if (device_.job.costs.traffic.empty()) {
    // A job without traffic runs no collectives that could slow it down.
    constexpr double no_excess = 0;
    return {start, device_.clock.advance(start, work_of(pass, partner).min_seconds, no_excess)};
  }
  PassProgress progress(*this, at, pass, partner, start);
  if (device_.job.has_full_detail())
    run_with_collectives(progress, pass, partner);
  else
    progress.run(progress.work().seconds);
  return progress.finish();
}

void PassRunner::run_with_collectives(PassProgress& progress, const Pass& pass,
                                      const Pass* partner) {
  const PassWork& work = progress.work();
  const std::vector<Slot> slots = slots_beside(device_, pass, partner, work.seconds);
  if (!has_streams(device_.job, partner)) {
    alternate(progress, slots, work.seconds);
    return;
  }
  for (const std::size_t half : {0U, 1U}) {
    std::vector<Slot> dispatch = slots_of(device_, pass, partner, [&](const workload::Call& call) {
      return device_.job.half_in_pair(call) == half;
    });
    const std::uint64_t first = calls_;
    calls_ += dispatch.size();
    const double start = progress.now();
    DispatchStream stream(device_, std::move(dispatch), first, work.excess);
    device_.catch_up(start);
    stream.start();
    const StreamWork& first_work = work.streams[0][half];
    const StreamWork& second_work = work.streams[1][half];
    std::array<double, 2> waited{};
    if (half == 0)  // all other collectives belong to attention
      waited = alternate(progress, slots, first_work.compute + second_work.compute);
    else
      progress.run(first_work.compute + second_work.compute);
    stream.wait();
    progress.wait_until(cluster::sg4::Engine::get_clock() - device_.epoch);
    progress.stretch_to(start + first_work.alone() - first_work.apart + waited[0] +
                        stream.exposed()[0]);
    progress.stretch_to(start + second_work.alone() - second_work.apart + waited[1] +
                        stream.exposed()[1]);
  }
}

// Runs compute and collectives in turn. Returns the seconds that each pass of a pair waited for its
// collectives.
std::array<double, 2> PassRunner::alternate(PassProgress& progress, std::span<const Slot> slots,
                                            double compute) {
  std::array<double, 2> waited{};
  if (slots.empty()) {
    progress.run(compute);
    return waited;
  }
  double rest = compute;
  for (const Slot& slot : slots) rest -= slot.overlap;
  const double between = std::max(0.0, rest) / static_cast<double>(slots.size());
  for (const Slot& slot : slots) {
    progress.run(between);
    device_.catch_up(progress.now());
    const auto collective = device_.synchronizer.call(device_.self, slot.call, calls_++,
                                                      slot.overlap > 0 ? &device_.clock : nullptr);
    progress.run(slot.overlap);
    const double before = progress.now();
    collective->wait();
    progress.wait_until(collective->end_time());
    waited[slot.of_partner ? 1 : 0] += progress.now() - before;
  }
  return waited;
}

}  // namespace pipewright::execution
