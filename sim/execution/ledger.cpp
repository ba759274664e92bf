#include "sim/execution/ledger.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace pipewright::execution {
namespace {

// Walks through a device's program and records the peak of its memory.
class PeakWalk {
 public:
  PeakWalk(const Job& job, std::uint32_t device, std::uint32_t replica)
      : job_(job),
        ledger_(job, device, replica),
        gathers_(job.gathers_for_passes()),
        steps_in_flight_(job.costs.state[device].step > 0 && job.schedule.weight_versions > 1) {
    if (job.reshards_stages()) {
      plan_ = job.unshard_plan(device);
      unshards_.emplace(plan_);
    }
    update_peak();
  }
  PeakWalk(const PeakWalk&) = delete;  // its parts refer to each other
  PeakWalk& operator=(const PeakWalk&) = delete;

  const PeakMemory& peak() const { return peak_; }

  void walk(const schedules::Program& program) {
    if (job_.tokens_vary() || unshards_ || steps_in_flight_) return walk_each_pass(program);
    repeat(program.iterations, [&] {
      for (const schedules::Loop& loop : program.loops)
        repeat(loop.rounds, [&] { walk(loop.body); });
      step();
    });
  }

 private:
  // The step of an iteration follows the device's last weight gradient of the iteration.
  void walk_each_pass(const schedules::Program& program) {
    const std::vector<schedules::Pass> passes = schedules::passes_of(program);
    std::map<std::uint32_t, std::size_t> ends;  // by iteration
    for (std::size_t i = 0; i < passes.size(); ++i)
      if (schedules::ends_microbatch(passes[i].kind))
        ends[job_.schedule.iteration_of(passes[i])] = i + (passes[i].fused ? 2 : 1);
    const std::span<const schedules::Pass> all = passes;
    std::size_t first = 0;
    for (const auto& [iteration, end] : ends) {
      walk(all.subspan(first, end - first));
      step();
      first = end;
    }
    walk(all.subspan(first));
  }

  // A device without a model has no step.
  void step() {
    if (job_.costs.traffic.empty()) return;
    ledger_.start_step();
    update_peak();
    ledger_.end_step();
  }

  // Every round adds the same amount, so that the first or the last one has the peak.
  template <class Round>
  void repeat(std::uint32_t rounds, const Round& round) {
    if (rounds == 0) return;
    const Ledger::Held before = ledger_.held();
    const std::uint64_t total = ledger_.total();
    round();
    if (rounds == 1) return;
    const bool grows = ledger_.total() > total;
    ledger_.repeat(before, grows ? rounds - 2 : rounds - 1);
    if (grows) round();
  }

  void walk(std::span<const schedules::Pass> body) {
    for (auto pass = body.begin(); pass != body.end(); ++pass) {
      const auto last = pass->fused ? pass + 1 : pass;
      if (unshards_) change_weights(unshards_->before_pass());
      for (auto member = pass; member <= last; ++member) hold_weights(*member);
      const bool swapped = pass->fused && counts_last(job_, *pass, *last);
      count(swapped ? *last : *pass);
      if (pass->fused) count(swapped ? *pass : *last);
      for (auto member = pass; member <= last; ++member)
        if (gathers_ && job_.conditions.drops_after(member->kind))
          ledger_.drop_weights(member->stage);
      if (unshards_)
        for (auto member = pass; member <= last; ++member) change_weights(unshards_->after_pass());
      pass = last;
    }
  }

  void count(const schedules::Pass& pass) {
    ledger_.start(pass, [](auto) {});
    update_peak();
    ledger_.end(pass, [](auto) {});
    update_peak();
  }

  void hold_weights(const schedules::Pass& pass) {
    if (!gathers_ || !job_.conditions.gathers_for(pass.kind)) return;
    ledger_.hold_weights(pass.stage);
    update_peak();
  }
  void change_weights(const schedules::UnshardStep* step) {
    if (step == nullptr) return;
    for (const std::uint16_t stage : step->reshard) ledger_.drop_weights(stage);
    for (const std::uint16_t stage : step->unshard) ledger_.hold_weights(stage);
    update_peak();
  }
  void update_peak() {
    const std::uint64_t total = ledger_.total();
    if (total > peak_.bytes) peak_ = {total, ledger_.held()};
  }

  const Job& job_;
  Ledger ledger_;
  bool gathers_;
  // True if the optimizer's step of an iteration takes memory while microbatches of the next one
  // are in flight, as in schedules without a flush.
  bool steps_in_flight_;
  schedules::UnshardPlan plan_;
  std::optional<schedules::UnshardCursor> unshards_;  // empty: no stage is resharded
  PeakMemory peak_;
};

}  // namespace

Ledger::Ledger(const Job& job, std::uint32_t device, std::uint32_t replica)
    : job_(job), replica_(replica), step_(job.costs.state[device].step) {
  const workload::DeviceState& state = job.costs.state[device];
  bytes_of(Category::weights) = state.weights * job.schedule.weight_versions;
  bytes_of(Category::gradients) = state.gradients;
  bytes_of(Category::optimizer) = state.optimizer;
  bytes_of(Category::buffers) = state.buffers;
  bytes_of(Category::allowance) = state.allowance;
}

std::uint64_t Ledger::total() const {
  return std::accumulate(held_.begin(), held_.end(), std::uint64_t{0});
}

void Ledger::repeat(const Held& before, std::uint32_t times) {
  for (std::size_t i = 0; i < held_.size(); ++i) held_[i] += times * (held_[i] - before[i]);
}

workload::Activations Ledger::activations(const schedules::Pass& pass) const {
  workload::Activations bytes = job_.costs.activations[pass.stage];
  if (!job_.tokens_vary()) return bytes;
  const double ratio = tokens(pass);
  for (std::uint64_t* const category_bytes :
       {&bytes.held, &bytes.released_by_input_grad, &bytes.made_by_input_grad, &bytes.logits,
        &bytes.working})
    *category_bytes = static_cast<std::uint64_t>(ratio * static_cast<double>(*category_bytes));
  return bytes;
}

PeakMemory peak_memory(const Job& job, std::uint32_t device, std::uint32_t replica) {
  PeakWalk walk(job, device, replica);
  walk.walk(job.schedule.programs[device]);
  return walk.peak();
}

}  // namespace pipewright::execution
