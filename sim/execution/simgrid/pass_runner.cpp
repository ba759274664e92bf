#include "sim/execution/simgrid/pass_runner.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "sim/execution/milestones.hpp"

namespace pipewright::execution {

using schedules::Pass;

namespace {

// Whether it is a fused pair that takes what its streams take.
bool has_streams(const Job& job, const Pass* partner) {
  return partner != nullptr && !job.costs.times.says_pairs();
}

// What a fused pair whose time is given saves of the exposed time of both beside what it saves of
// their compute: collectives of one run beside compute of the other.
double saved_exposed(const workload::StageCosts& costs, const Pass& pass, const Pass& partner) {
  const double exposed =
      costs.of(costs.collective_waits, pass) + costs.of(costs.collective_waits, partner);
  return costs.times.fused.empty() ? std::max(0.0, 1 - costs.times.overlap.value_or(1)) * exposed
                                   : exposed;
}

std::vector<Turn> turns_of(const DeviceContext& device, const Pass& pass, const Pass* partner,
                           const std::function<bool(const workload::Call&)>& wanted) {
  std::vector<Turn> turns;
  for (const Pass* const one : {&pass, partner})
    if (one != nullptr)
      for (const workload::Call& call :
           calls_of(device.job, device.replica_groups, device.self, *one))
        if (wanted(call))
          turns.insert(turns.end(), call.times,
                       {call, call.overlappable_compute / call.times, one == partner});
  return turns;
}

// The collectives that take turns with `compute` seconds of what runs as one, which has no more
// beside them.
std::vector<Turn> turns_beside(const DeviceContext& device, const Pass& pass, const Pass* partner,
                               double compute) {
  const Job& job = device.job;
  const bool streams = has_streams(job, partner);
  std::vector<Turn> turns = turns_of(device, pass, partner, [&](const workload::Call& call) {
    return !streams || !call.is_dispatch();
  });
  double bytes = 0;
  for (const Turn& turn : turns) bytes += static_cast<double>(turn.call.bytes);
  const double saved =
      partner != nullptr && !streams && bytes > 0 ? saved_exposed(job.costs, pass, *partner) : 0;
  double all = 0;
  for (Turn& turn : turns) {
    if (saved > 0) turn.beside += saved * static_cast<double>(turn.call.bytes) / bytes;
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
  // Nothing beside it makes that longer.
  void stretch_to(double time) {
    constexpr double rounding = 1e-12;
    if (time - now_ > rounding * now_) now_ = runner_.device_.clock.advance(now_, time - now_, 0);
  }

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
    stretch_to(start_ + work_.least);  // the rest of the host's time
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
  const PassWork& work = running.work();
  const std::vector<Turn> turns = turns_beside(device_, pass, partner, work.seconds);
  if (!has_streams(device_.job, partner)) {
    take_turns(running, turns, work.seconds);
    return;
  }
  for (const std::size_t half : {0U, 1U}) {
    std::vector<Turn> dispatch = turns_of(device_, pass, partner, [&](const workload::Call& call) {
      return call.is_dispatch() && device_.job.costs.half_of(call) == half;
    });
    const std::uint64_t first = calls_;
    calls_ += dispatch.size();
    const double start = running.now();
    DispatchStream stream(device_, std::move(dispatch), first, work.excess);
    device_.catch_up(start);
    stream.start();
    const StreamWork& one = work.streams[0][half];
    const StreamWork& other = work.streams[1][half];
    std::array<double, 2> waited{};
    if (half == 0)  // where all other collectives are
      waited = take_turns(running, turns, one.compute + other.compute);
    else
      running.run(one.compute + other.compute);
    stream.wait();
    running.wait_until(cluster::sg4::Engine::get_clock() - device_.epoch);
    running.stretch_to(start + one.alone() - one.apart + waited[0] + stream.exposed()[0]);
    running.stretch_to(start + other.alone() - other.apart + waited[1] + stream.exposed()[1]);
  }
}

// Returns how long each of the passes waited.
std::array<double, 2> PassRunner::take_turns(Running& running, std::span<const Turn> turns,
                                             double compute) {
  std::array<double, 2> waited{};
  if (turns.empty()) {
    running.run(compute);
    return waited;
  }
  double rest = compute;
  for (const Turn& turn : turns) rest -= turn.beside;
  const double between = std::max(0.0, rest) / static_cast<double>(turns.size());
  for (const Turn& turn : turns) {
    running.run(between);
    device_.catch_up(running.now());
    const auto collective = device_.others.call(device_.self, turn.call, calls_++,
                                                turn.beside > 0 ? &device_.clock : nullptr);
    running.run(turn.beside);
    const double before = running.now();
    collective->wait();
    running.wait_until(collective->end_time());
    waited[turn.of_partner ? 1 : 0] += running.now() - before;
  }
  return waited;
}

}  // namespace pipewright::execution
