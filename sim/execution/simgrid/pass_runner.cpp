#include "sim/execution/simgrid/pass_runner.hpp"

#include <algorithm>

#include "sim/execution/milestones.hpp"

namespace pipewright::execution {

using schedules::Pass;

namespace {

// One collective within a pass, and the seconds of compute beside which it runs.
struct Turn {
  const workload::Call* call;
  double beside;
};

void add_turns(const Job& job, const Pass& pass, std::vector<Turn>& turns) {
  for (const workload::Call& call : job.costs.traffic[pass.stage][pass.kind])
    turns.insert(turns.end(), call.times, {&call, call.overlappable_compute / call.times});
}

// What a fused pair saves of the exposed time of both beside what it saves of their compute:
// collectives of one run beside compute of the other.
double saved_exposed(const workload::StageCosts& costs, const Pass& pass, const Pass& partner) {
  const double exposed =
      costs.of(costs.collective_waits, pass) + costs.of(costs.collective_waits, partner);
  return costs.times.fused.empty() ? std::max(0.0, 1 - costs.times.overlap) * exposed : exposed;
}

// The turns of what runs as one, with `compute` seconds of it beside them at the most.
std::vector<Turn> turns_of(const Job& job, const Pass& pass, const Pass* partner, double compute) {
  std::vector<Turn> turns;
  add_turns(job, pass, turns);
  if (partner != nullptr) add_turns(job, *partner, turns);
  double bytes = 0;
  for (const Turn& turn : turns) bytes += static_cast<double>(turn.call->bytes);
  const double saved =
      partner != nullptr && bytes > 0 ? saved_exposed(job.costs, pass, *partner) : 0;
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

// A pass, or a fused pair, on its way through its work.
class PassRunner::Running {
 public:
  Running(PassRunner& runner, const schedules::PassCursor& at, const Pass& pass,
          const Pass* partner, double start)
      : runner_(runner),
        at_(at),
        pass_(pass),
        partner_(partner),
        last_(partner != nullptr && ends_microbatch(partner->kind) ? *partner : pass),
        work_(runner.work_of(pass, partner)),
        milestones_(runner.gradients_.parts(last_), runner.weights_.parts(pass),
                    partner == nullptr ? 0 : runner.weights_.parts(*partner)),
        now_(start),
        start_(start) {}

  const PassWork& work() const { return work_; }
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
    // The rest of the host's time, which nothing beside it makes longer.
    constexpr double rounding = 1e-12;
    const double left = start_ + work_.least - now_;
    if (left > rounding * now_) now_ = runner_.device_.clock.advance(now_, left, 0);
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
    const double then = runner_.weights_.wait(due.of_partner ? *partner_ : pass_, due.part, now_);
    start_ += then - now_;
    now_ = then;
    if (milestones_.needs_more_weights()) return;
    schedules::PassCursor next = at_;
    for (int passes = partner_ == nullptr ? 1 : 2; passes > 0; --passes) next.next();
    runner_.weights_.prefetch(next);
  }

  PassRunner& runner_;
  const schedules::PassCursor& at_;
  const Pass& pass_;
  const Pass* partner_;
  Pass last_;  // the one that makes gradients, if any
  PassWork work_;
  Milestones milestones_;
  double now_;
  double start_;
  double done_ = 0;  // seconds of the work
};

PassRunner::Ran PassRunner::run(const schedules::PassCursor& at, const Pass& pass,
                                const Pass* partner, double start) {
  if (device_.job.costs.traffic.empty()) {
    constexpr double alone = 0;  // nobody says anything
    return {start, device_.clock.advance(start, work_of(pass, partner).least, alone)};
  }
  Running running(*this, at, pass, partner, start);
  if (device_.job.has_full_detail())
    run_with_collectives(running, pass, partner);
  else
    running.run(running.work().seconds);
  return running.finish();
}

void PassRunner::run_with_collectives(Running& running, const Pass& pass, const Pass* partner) {
  const double compute = running.work().seconds;
  const std::vector<Turn> turns = turns_of(device_.job, pass, partner, compute);
  if (turns.empty()) return running.run(compute);
  double rest = compute;
  for (const Turn& turn : turns) rest -= turn.beside;
  const double between = std::max(0.0, rest) / static_cast<double>(turns.size());
  for (const Turn& turn : turns) {
    running.run(between);
    device_.catch_up(running.now());
    const auto collective = device_.others.call(device_.self, *turn.call, calls_++,
                                                turn.beside > 0 ? &device_.clock : nullptr);
    running.run(turn.beside);
    collective->wait();
    running.wait_until(collective->end_time());
  }
}

}  // namespace pipewright::execution
