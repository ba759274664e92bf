#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// What each of a device's GPUs holds while the device goes through its passes, in bytes. Which
// passes come when does not matter, their order does.
class Ledger {
 public:
  using Category = trace::MemoryCategory;
  using Held = std::array<std::uint64_t, trace::memory_categories>;

  // With what is held whatever happens. Where microbatches have more tokens or fewer, of this
  // replica's.
  Ledger(const Job& job, std::uint32_t device, std::uint32_t replica = 0);

  const Held& held() const { return held_; }
  std::uint64_t held(Category category) const { return held_[static_cast<std::size_t>(category)]; }
  std::uint64_t total() const;
  // Adds what is held now less what `before` was, so many times.
  void repeat(const Held& before, std::uint32_t times);

  // A pass starts, or ends; calls changed(category) after each change.
  template <class Changed>
  void start(const schedules::Pass& pass, Changed&& changed);
  template <class Changed>
  void end(const schedules::Pass& pass, Changed&& changed);
  // ZeRO-3: the whole weights of a stage come, and go.
  void hold_weights(std::uint32_t stage) { of(Category::gathered) += gathered(stage); }
  void drop_weights(std::uint32_t stage) { of(Category::gathered) -= gathered(stage); }

 private:
  std::uint64_t& of(Category category) { return held_[static_cast<std::size_t>(category)]; }
  // Two layers' at a time, or all that a microbatch keeps until its backward pass.
  std::uint64_t gathered(std::uint32_t stage) const {
    if (!job_.conditions.reshards) return job_.costs.gathered_whole(stage);
    return job_.costs.gathered.empty() ? 0 : job_.costs.gathered[stage];
  }

  // What the pass's microbatch leaves on its stage, all of which goes by its tokens.
  workload::Activations activations(const schedules::Pass& pass) const;
  std::uint64_t input_bytes(const schedules::Pass& pass) const {
    const auto& of_stage = job_.costs.input_bytes;
    return static_cast<std::uint64_t>(
        tokens(pass) *
        static_cast<double>(of_stage.empty() ? job_.costs.boundary_bytes : of_stage[pass.stage]));
  }
  double tokens(const schedules::Pass& pass) const {
    return job_.tokens_vary() ? job_.uneven->work(replica_, pass.microbatch).tokens : 1;
  }

  const Job& job_;
  std::uint32_t replica_;
  Held held_{};
};

// A fused pair of a model goes through the forward pass's layers beside the backward pass's, so
// that one takes what the other lets go: of its two passes the backward one counts first, and at
// the pair's end the forward one (Megatron-Core's TransformerModelChunkSchedulePlan). Of passes
// that are nothing but times, the forward one takes all at its start.
inline bool counts_last(const Job& job, const schedules::Pass& of_pair) {
  return !job.costs.traffic.empty() && of_pair.kind == schedules::PassKind::forward;
}

// The most that one of a device's GPUs holds at a time: analysis::Summary's peak of a run, without
// the run. Of loops, whose rounds all add the same, it looks at the first and the last, unless
// microbatches differ.
struct PeakMemory {
  std::uint64_t bytes = 0;
  Ledger::Held at_peak{};  // when that is first so
};
PeakMemory peak_memory(const Job& job, std::uint32_t device, std::uint32_t replica = 0);

template <class Changed>
void Ledger::start(const schedules::Pass& pass, Changed&& changed) {
  const workload::Activations stage = activations(pass);
  // A stage that recomputes keeps its input alone until R.
  const std::uint64_t input =
      job_.schedule.recomputes(pass.stage) ? std::min(stage.held, input_bytes(pass)) : 0;
  std::uint64_t taken = 0;
  if (pass.kind == schedules::PassKind::forward) taken = input;
  if (schedules::takes_activations(job_.schedule, pass)) taken = stage.held - input;
  if (taken > 0) {
    of(Category::activations) += taken;
    changed(Category::activations);
  }
  if (stage.logits > 0 && pass.kind == schedules::PassKind::forward) {
    of(Category::logits) += stage.logits;
    changed(Category::logits);
  }
  if (stage.working > 0 && schedules::sends_gradient(pass.kind)) {
    of(Category::working) = stage.working;
    changed(Category::working);
  }
}

template <class Changed>
void Ledger::end(const schedules::Pass& pass, Changed&& changed) {
  const workload::Activations stage = activations(pass);
  if (stage.working > 0 && schedules::sends_gradient(pass.kind)) {
    of(Category::working) = 0;
    changed(Category::working);
  }
  if (stage.logits > 0 && schedules::sends_gradient(pass.kind)) {
    of(Category::logits) -= stage.logits;
    changed(Category::logits);
  }
  std::uint64_t released = 0;
  std::uint64_t made = 0;  // by I, for W
  if (pass.kind == schedules::PassKind::backward) released = stage.held;
  if (pass.kind == schedules::PassKind::input_grad) {
    released = stage.released_by_input_grad;
    made = stage.made_by_input_grad;
  }
  if (pass.kind == schedules::PassKind::weight_grad)
    released = stage.held - stage.released_by_input_grad + stage.made_by_input_grad;
  if (released == made) return;
  of(Category::activations) += made - released;
  changed(Category::activations);
}

}  // namespace pipewright::execution
