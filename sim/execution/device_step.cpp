// What a device shares with its copies: weights before passes, gradients after them, and the
// optimizer's step at the end of an iteration.

#include <algorithm>
#include <utility>

#include "sim/execution/device.hpp"
#include "sim/execution/noise.hpp"

namespace pipewright::execution {

namespace sg4 = cluster::sg4;
using schedules::Pass;
using schedules::PassKind;

namespace {

std::uint64_t key_of(const Pass& pass) {
  return (std::uint64_t{pass.microbatch} * schedules::pass_kinds +
          static_cast<std::uint64_t>(pass.kind))
             << 16U |
         pass.stage;
}

// Tells a part of a pass's weights from all others of the stage.
std::uint64_t index_of(const Pass& pass, std::uint32_t part) {
  constexpr unsigned part_bits = 28;
  return (1 + (key_of(pass) >> 16U)) << part_bits | part;
}

}  // namespace

void Device::count(const Pass& pass) {
  drop_weights(pass, now_);
  if (job_.costs.traffic.empty()) return;
  if (!job_.conditions.communication.overlap_grad_reduce && completes_gradients(pass)) {
    if (job_.conditions.zero >= 2)
      reduce_all(pass, now_);
    else
      unreduced_.push_back(pass);
  }
  if (const auto iteration = gradients_made_.add(pass)) finish_iteration(*iteration);
}

bool Device::completes_gradients(const Pass& pass) const {
  if (!replica_groups_.has(pass.stage)) return false;
  return job_.conditions.zero >= 2 ? ends_microbatch(pass.kind)
                                   : gradients_made_.completes_stage(pass);
}

void Device::catch_up(double now) {
  now_ = now;
  sg4::this_actor::sleep_until(epoch_ + now);
}

Device::Pending Device::gather(std::uint32_t stage, std::uint32_t iteration, std::uint64_t index) {
  catch_up(now_);
  Pending pending{others_.weights(stage, iteration, index, &clock_),
                  {.device = self_.device,
                   .stage = stage,
                   .iteration = iteration,
                   .kind = trace::CollectiveKind::gather_weights,
                   .bytes = replica_groups_.weight_bytes(stage),
                   .posted = now_}};
  return pending;
}

void Device::reduce(const Pass& pass, std::uint32_t part, double now) {
  catch_up(now);
  const std::uint32_t iteration = gradients_made_.iteration_of(pass);
  // Two devices that hold one stage end it with microbatches of their own.
  const std::uint64_t microbatch = job_.conditions.zero >= 2 ? pass.microbatch : 0;
  const std::uint64_t index = microbatch << 32U | part;
  gradients_.push_back({others_.gradients(pass.stage, iteration, index, &clock_),
                        {.device = self_.device,
                         .stage = pass.stage,
                         .iteration = iteration,
                         .kind = trace::CollectiveKind::reduce_gradients,
                         .bytes = replica_groups_.gradient_bytes(pass.stage),
                         .posted = now}});
}

void Device::reduce_all(const Pass& pass, double now) {
  for (std::uint32_t part = 0; part < replica_groups_.parts(pass.stage); ++part)
    reduce(pass, part, now);
}

double Device::finish(Pending& pending) {
  pending.collective->wait();
  pending.row.start = std::max(pending.row.posted, pending.collective->start_time());
  pending.row.end = std::max(pending.row.start, pending.collective->end_time());
  if (sink_ != nullptr) sink_->collective(pending.row);
  return pending.row.end;
}

// ZeRO-1 and 2: weights were updated in shards, and are whole again before their first forward.
void Device::fetch_weights(std::uint32_t iteration) {
  if (job_.costs.traffic.empty() || !job_.conditions.gathers_before()) return;
  for (const std::uint32_t stage : stages()) {
    if (!replica_groups_.has(stage)) continue;
    std::vector<Pending>& parts = weights_[stage];
    parts.clear();
    for (std::uint32_t part = 0; part < replica_groups_.weight_parts(stage); ++part)
      parts.push_back(gather(stage, iteration, part));
  }
}

// ZeRO-3: while the last part of a pass runs, or of a fused pair, the first one of the next that
// needs weights is on its way. What is to be updated first comes after that.
void Device::prefetch_weights(schedules::PassCursor at) {
  if (!job_.gathers_for_passes()) return;
  for (bool found = false; !at.done() && !found; at.next()) {
    const Pass pass = at.pass();
    if (job_.schedule.weight_versions == 1 && gradients_made_.iteration_of(pass) > updated_) {
      held_back_ = at;
      return;
    }
    const std::optional<Pass> partner = pass.fused ? std::optional(at.following()) : std::nullopt;
    if (partner) at.next();
    for (const Pass& one : {pass, partner.value_or(pass)}) {
      if (one.kind == PassKind::weight_grad || weights_.contains(key_of(one))) continue;
      gather(one, 0);
      found = true;
    }
  }
}

void Device::gather(const Pass& pass, std::uint32_t part) {
  weights_[key_of(pass)].push_back(
      gather(pass.stage, gradients_made_.iteration_of(pass), index_of(pass, part)));
}

// That are still to come when it starts.
std::uint32_t Device::weight_parts(const Pass& pass) const {
  if (weights_.empty()) return 0;
  if (!weights_.contains(job_.conditions.zero >= 3 ? key_of(pass) : pass.stage)) return 0;
  return replica_groups_.weight_parts(pass.stage);
}

// Returns when the device goes on.
double Device::wait_for_weights(const Pass& pass, std::uint32_t part, double now) {
  const bool by_pass = job_.conditions.zero >= 3;
  const auto found = weights_.find(by_pass ? key_of(pass) : pass.stage);
  const double then = std::max(now, finish(found->second[part]));
  gathering_ += then - now;
  if (by_pass && part == 0) {
    in_use_.insert(key_of(pass));
    if (recorder_) recorder_->hold_weights(pass.stage, then);
  }
  now_ = then;
  const bool is_last = part + 1 == replica_groups_.weight_parts(pass.stage);
  if (is_last)
    weights_.erase(found);
  else if (by_pass)
    gather(pass, part + 1);
  return then;
}

void Device::drop_weights(const Pass& pass, double now) {
  if (in_use_.erase(key_of(pass)) == 0) return;
  if (recorder_) recorder_->drop_weights(pass.stage, now);
}

void Device::finish_iteration(std::uint32_t iteration) {
  trace::StepRow row{.device = self_.device, .iteration = iteration, .start = now_};
  for (const Pass& pass : unreduced_) reduce_all(pass, now_);
  unreduced_.clear();
  row.reduced = now_;
  for (Pending& pending : gradients_) row.reduced = std::max(row.reduced, finish(pending));
  gradients_.clear();
  catch_up(row.reduced);
  if (const auto collective = others_.embeddings(self_, iteration)) {
    Pending pending{collective,
                    {.device = self_.device,
                     .stage = stages().front(),
                     .iteration = iteration,
                     .kind = trace::CollectiveKind::tie_embeddings,
                     .bytes = replica_groups_.embedding_bytes(),
                     .posted = now_}};
    catch_up(row.reduced = finish(pending));
  }

  if (job_.waits_for_norm()) {
    const auto collective = others_.norm(iteration);
    collective->wait();
    now_ = std::max(now_, collective->end_time() + replica_groups_.norm_latency());
  }
  row.synchronized = now_;
  if (!job_.costs.optimizer_seconds.empty())
    now_ += job_.costs.optimizer_seconds[self_.device] * straggler_factor(job_, self_);
  row.updated = row.end = now_;
  if (job_.conditions.gathers_after()) {
    std::vector<Pending> gathers;
    for (const std::uint32_t stage : stages())
      if (replica_groups_.has(stage)) gathers.push_back(gather(stage, iteration, 0));
    for (Pending& pending : gathers) row.end = std::max(row.end, finish(pending));
    now_ = row.end;
  }
  row.gathering = gathering_;
  gathering_ = 0;
  if (sink_ != nullptr) sink_->step(row);
  if (iteration + 1 < job_.schedule.iterations) fetch_weights(iteration + 1);
  updated_ = iteration + 1;
  if (held_back_) prefetch_weights(*std::exchange(held_back_, std::nullopt));
}

}  // namespace pipewright::execution
