#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Tracks the bytes in the memory of each GPU of a device, by category, while the device runs its
// passes. Only the order of the passes matters, not their times.
class Ledger {
 public:
  using Category = trace::MemoryCategory;
  using Held = std::array<std::uint64_t, trace::memory_categories>;

  // Starts with the state (such as weights) that stays allocated throughout. If microbatches differ
  // in tokens, those of `replica` count.
  Ledger(const Job& job, std::uint32_t device, std::uint32_t replica = 0);

  const Held& held() const { return held_; }
  std::uint64_t held(Category category) const { return held_[static_cast<std::size_t>(category)]; }
  std::uint64_t total() const;
  // Adds the change since `before` `times` more times.
  void repeat(const Held& before, std::uint32_t times);

  // Adds the memory that a pass allocates at its start, or frees at its end. Calls
  // changed(category) after each change.
  template <class Changed>
  void start(const schedules::Pass& pass, Changed&& changed);
  template <class Changed>
  void end(const schedules::Pass& pass, Changed&& changed);
  // Allocate the gathered weights of a stage, and free them, if these do not stay throughout:
  // ZeRO-3, and FSDP that reshards stages of a pipeline.
  void hold_weights(std::uint32_t stage) { bytes_of(Category::gathered) += gathered(stage); }
  void drop_weights(std::uint32_t stage) { bytes_of(Category::gathered) -= gathered(stage); }
  // Allocate what the optimizer's step needs, and free it.
  void start_step() { bytes_of(Category::working) += step_; }
  void end_step() { bytes_of(Category::working) -= step_; }

 private:
  std::uint64_t& bytes_of(Category category) { return held_[static_cast<std::size_t>(category)]; }
  // Bytes of gathered weights: of two layers if weights are resharded after use, else of the whole
  // stage.
  std::uint64_t gathered(std::uint32_t stage) const {
    if (!job_.conditions.reshards) return job_.costs.gathered_whole(stage);
    return job_.costs.gathered.empty() ? 0 : job_.costs.gathered[stage];
  }

  // Activations that the pass's microbatch keeps on the stage, scaled by its number of tokens.
  workload::Activations activations(const schedules::Pass& pass) const;
  std::uint64_t input_bytes(const schedules::Pass& pass) const {
    const auto& by_stage = job_.costs.input_bytes;
    return static_cast<std::uint64_t>(
        tokens(pass) *
        static_cast<double>(by_stage.empty() ? job_.costs.boundary_bytes : by_stage[pass.stage]));
  }
  double tokens(const schedules::Pass& pass) const {
    return job_.tokens_vary() ? job_.uneven->work(replica_, pass.microbatch).stored : 1;
  }

  const Job& job_;
  std::uint32_t replica_;
  std::uint64_t step_;  // bytes
  Held held_{};
};

// True if the first pass of a fused pair is counted at the end of the pair. A fused pair of a model
// alternates the layers of both passes, so that the forward pass reuses the memory that the other
// pass frees: that pass is counted first, and the forward pass at the pair's end (Megatron-Core's
// TransformerModelChunkSchedulePlan). Two forward passes allocate everything at their start, as do
// all forward passes without a model.
inline bool counts_last(const Job& job, const schedules::Pass& first,
                        const schedules::Pass& second) {
  using schedules::PassKind;
  return !job.costs.traffic.empty() && first.kind == PassKind::forward &&
         second.kind != PassKind::forward;
}

// Peak memory of a device's GPUs, as in analysis::Summary, but computed without a simulation. Every
// round of a loop adds the same amount, so the first and the last round suffice, unless
// microbatches differ.
struct PeakMemory {
  std::uint64_t bytes = 0;
  // Bytes by category when the peak is first reached.
  Ledger::Held at_peak{};
};
PeakMemory peak_memory(const Job& job, std::uint32_t device, std::uint32_t replica = 0);

template <class Changed>
void Ledger::start(const schedules::Pass& pass, Changed&& changed) {
  const workload::Activations stage = activations(pass);
  // A stage that recomputes keeps only its input until the recompute pass.
  const std::uint64_t input =
      job_.schedule.recomputes(pass.stage) ? std::min(stage.held, input_bytes(pass)) : 0;
  std::uint64_t taken = 0;
  if (pass.kind == schedules::PassKind::forward) taken = input;
  if (schedules::takes_activations(job_.schedule, pass)) taken = stage.held - input;
  if (taken > 0) {
    bytes_of(Category::activations) += taken;
    changed(Category::activations);
  }
  if (stage.logits > 0 && pass.kind == schedules::PassKind::forward) {
    bytes_of(Category::logits) += stage.logits;
    changed(Category::logits);
  }
  if (stage.working > 0 && schedules::sends_gradient(pass.kind)) {
    bytes_of(Category::working) = stage.working;
    changed(Category::working);
  }
}

template <class Changed>
void Ledger::end(const schedules::Pass& pass, Changed&& changed) {
  const workload::Activations stage = activations(pass);
  if (stage.working > 0 && schedules::sends_gradient(pass.kind)) {
    bytes_of(Category::working) = 0;
    changed(Category::working);
  }
  if (stage.logits > 0 && schedules::sends_gradient(pass.kind)) {
    bytes_of(Category::logits) -= stage.logits;
    changed(Category::logits);
  }
  std::uint64_t released = 0;
  std::uint64_t made = 0;  // by I for W
  if (pass.kind == schedules::PassKind::backward) released = stage.held;
  if (pass.kind == schedules::PassKind::input_grad) {
    released = stage.released_by_input_grad;
    made = stage.made_by_input_grad;
  }
  if (pass.kind == schedules::PassKind::weight_grad)
    released = stage.held - stage.released_by_input_grad + stage.made_by_input_grad;
  if (released == made) return;
  bytes_of(Category::activations) += made - released;
  changed(Category::activations);
}

}  // namespace pipewright::execution
