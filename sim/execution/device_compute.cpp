// How a device computes: what its passes take, what falls due on the way, and the collectives
// within them where these are simulated in full.

#include <algorithm>

#include "sim/execution/device.hpp"
#include "sim/execution/noise.hpp"

namespace pipewright::execution {

using schedules::Pass;

namespace {

bool is_full(const Job& job) { return job.conditions.communication.detail == config::Detail::full; }

// One collective within a pass, and the seconds of compute beside which it runs.
struct Turn {
  const workload::Call* call;
  double beside;
};

void add_turns(const Job& job, const Pass& pass, std::vector<Turn>& turns) {
  for (const workload::Call& call :
       job.costs.traffic[pass.stage].inside[static_cast<std::size_t>(pass.kind)])
    turns.insert(turns.end(), call.times, {&call, call.overlappable_compute / call.times});
}

// What a fused pair saves of the waits of both beside what it saves of their compute: collectives
// of one run beside compute of the other.
double saved_waits(const workload::StageCosts& costs, const Pass& pass, const Pass& partner) {
  const double waits = costs.exposed_of(pass) + costs.exposed_of(partner);
  return costs.times.fused.empty() ? std::max(0.0, 1 - costs.times.overlap) * waits : waits;
}

// The turns of what runs as one, with `compute` seconds of it beside them at the most.
std::vector<Turn> turns_of(const Job& job, const Pass& pass, const Pass* partner, double compute) {
  std::vector<Turn> turns;
  add_turns(job, pass, turns);
  if (partner != nullptr) add_turns(job, *partner, turns);
  double bytes = 0;
  for (const Turn& turn : turns) bytes += static_cast<double>(turn.call->bytes);
  const double saved = partner != nullptr && bytes > 0 ? saved_waits(job.costs, pass, *partner) : 0;
  double all = 0;
  for (Turn& turn : turns) {
    if (saved > 0) turn.beside += saved * static_cast<double>(turn.call->bytes) / bytes;
    all += turn.beside;
  }
  if (all > compute)
    for (Turn& turn : turns) turn.beside *= compute / all;
  return turns;
}

}  // namespace

// Some passes on their way through their work.
class Device::Running {
 public:
  Running(Device& device, const Pass& pass, const Pass* partner, double start)
      : device_(device),
        pass_(pass),
        partner_(partner),
        last_(partner != nullptr && ends_microbatch(partner->kind) ? *partner : pass),
        work_(device.work_of(pass, partner)),
        milestones_(device.gradient_parts(last_), device.weight_parts(pass),
                    partner == nullptr ? 0 : device.weight_parts(*partner)),
        now_(start),
        start_(start) {}

  const Work& work() const { return work_; }
  double now() const { return now_; }
  void wait_until(double time) { now_ = std::max(now_, time); }

  // The next `seconds` of the work, and what falls due before they are over.
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

  Ran finish() {
    for (Milestone due = milestones_.next(); due.kind != Milestone::Kind::none;
         due = milestones_.next())
      reach(due);
    return {start_, now_};
  }

 private:
  void advance(double seconds) {
    seconds = std::max(0.0, seconds);
    now_ = device_.clock_.advance(now_, seconds, work_.slowed);
    done_ += seconds;
  }

  void reach(const Milestone& due) {
    milestones_.pop(due);
    if (due.kind == Milestone::Kind::gradients) return device_.reduce(last_, due.part, now_);
    const double then =
        device_.wait_for_weights(due.of_partner ? *partner_ : pass_, due.part, now_);
    start_ += then - now_;
    now_ = then;
    if (milestones_.needs_more_weights()) return;
    schedules::PassCursor next = device_.at_;
    for (int passes = partner_ == nullptr ? 1 : 2; passes > 0; --passes) next.next();
    device_.prefetch_weights(next);
  }

  Device& device_;
  const Pass& pass_;
  const Pass* partner_;
  Pass last_;  // the one that makes gradients, if any
  Work work_;
  Milestones milestones_;
  double now_;
  double start_;
  double done_ = 0;  // seconds of the work
};

// What a device waits for is others' time, and no noise of its own.
Device::Work Device::work_of(const Pass& pass, const Pass* partner) const {
  const workload::StageCosts& costs = job_.costs;
  const double whole = partner == nullptr ? costs.times(pass) : costs.times(pass, *partner);
  double waits = 0;
  double beside = 0;
  if (!is_full(job_))
    for (const Pass* one : {&pass, partner})
      if (one != nullptr) {
        waits += costs.exposed_of(*one);
        beside += costs.overlapped_of(*one);
      }
  waits = std::min(waits, whole);
  const double compute = (whole - waits) * noise_of(pass, partner);
  Work work{.seconds = compute + waits};
  if (work.seconds > 0) work.slowed = std::max(0.0, compute - beside) / work.seconds;
  return work;
}

// Of what runs as one. Passes that talk with other replicas go at the pace of the slowest of them;
// in full detail their collectives see to that.
double Device::noise_of(const Pass& pass, const Pass* partner) const {
  double slowest = noise(job_, self_, pass);
  if (is_full(job_) || job_.costs.traffic.empty()) return slowest;
  if (!job_.conditions.variation.is_random() && job_.slowdown.empty()) return slowest;
  for (const Pass* one : {&pass, partner}) {
    if (one == nullptr) continue;
    for (const workload::Call& call :
         job_.costs.traffic[one->stage].inside[static_cast<std::size_t>(one->kind)])
      for (const std::uint32_t replica : replica_groups_.replicas_with(call.group, self_))
        slowest = std::max(slowest, noise(job_, {replica, self_.device}, pass));
  }
  return slowest;
}

// The gradients of a stage become whole layer by layer, from the last one on.
std::uint32_t Device::gradient_parts(const Pass& pass) const {
  return job_.conditions.communication.overlap_grad_reduce && completes_gradients(pass)
             ? replica_groups_.parts(pass.stage)
             : 0;
}

Device::Ran Device::compute(const Pass& pass, const Pass* partner, double start) {
  if (job_.costs.traffic.empty()) {
    const Work work = work_of(pass, partner);
    return {start, clock_.advance(start, work.seconds, work.slowed)};
  }
  Running running(*this, pass, partner, start);
  if (is_full(job_))
    talk_within(running, pass, partner);
  else
    running.run(running.work().seconds);
  return running.finish();
}

void Device::talk_within(Running& running, const Pass& pass, const Pass* partner) {
  const double compute = running.work().seconds;
  const std::vector<Turn> turns = turns_of(job_, pass, partner, compute);
  if (turns.empty()) return running.run(compute);
  double rest = compute;
  for (const Turn& turn : turns) rest -= turn.beside;
  const double between = std::max(0.0, rest) / static_cast<double>(turns.size());
  for (const Turn& turn : turns) {
    running.run(between);
    catch_up(running.now());
    const auto collective =
        others_.call(self_, *turn.call, calls_++, turn.beside > 0 ? &clock_ : nullptr);
    running.run(turn.beside);
    collective->wait();
    running.wait_until(collective->end_time());
  }
}

}  // namespace pipewright::execution
