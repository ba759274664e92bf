// What a device shares with its copies: weights before passes, gradients after them, and the
// optimizer's step at the end of an iteration.

#include <algorithm>

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
  if (!copies_.has(pass.stage)) return false;
  return job_.conditions.zero >= 2 ? ends_microbatch(pass.kind)
                                   : gradients_made_.completes_stage(pass);
}

void Device::catch_up(double now) {
  now_ = now;
  sg4::this_actor::sleep_until(epoch_ + now);
}

Device::Pending Device::gather(std::uint32_t stage, std::uint32_t iteration, std::uint64_t index) {
  catch_up(now_);
  Pending pending{others_.weights(stage, iteration, index, &pace_),
                  {.device = unit_.device,
                   .stage = stage,
                   .iteration = iteration,
                   .kind = trace::CollectiveKind::gather_weights,
                   .bytes = copies_.weight_bytes(stage),
                   .posted = now_}};
  return pending;
}

void Device::reduce(const Pass& pass, std::uint32_t part, double now) {
  catch_up(now);
  const std::uint32_t iteration = gradients_made_.iteration_of(pass);
  // Two devices that hold one stage end it with microbatches of their own.
  const std::uint64_t microbatch = job_.conditions.zero >= 2 ? pass.microbatch : 0;
  const std::uint64_t index = microbatch << 32U | part;
  gradients_.push_back({others_.gradients(pass.stage, iteration, index, &pace_),
                        {.device = unit_.device,
                         .stage = pass.stage,
                         .iteration = iteration,
                         .kind = trace::CollectiveKind::reduce_gradients,
                         .bytes = copies_.gradient_bytes(pass.stage),
                         .posted = now}});
}

void Device::reduce_all(const Pass& pass, double now) {
  for (std::uint32_t part = 0; part < copies_.parts(pass.stage); ++part) reduce(pass, part, now);
}

double Device::finish(Pending& pending) {
  pending.meeting->wait();
  pending.row.start = std::max(pending.row.posted, pending.meeting->start_time());
  pending.row.end = std::max(pending.row.start, pending.meeting->end_time());
  if (sink_ != nullptr) sink_->collective(pending.row);
  return pending.row.end;
}

// ZeRO-1 and 2: weights were updated in shards, and are whole again before their first forward.
void Device::fetch_weights(std::uint32_t iteration) {
  if (job_.costs.traffic.empty() || !job_.conditions.gathers_before()) return;
  for (const std::uint32_t stage : stages())
    if (copies_.has(stage)) weights_[stage] = gather(stage, iteration, 0);
}

// ZeRO-3: while one pass runs, or a fused pair, the weights of the next are on their way.
void Device::prefetch_weights(const schedules::PassCursor& at) {
  if (!job_.gathers_for_passes()) return;
  schedules::PassCursor next = at;
  for (int ahead = 0; ahead < 2 && !next.done(); ++ahead) {
    const bool fused = next.pass().fused;
    prefetch_weights(next.pass());
    next.next();
    if (!fused) continue;
    prefetch_weights(next.pass());
    next.next();
  }
}

void Device::prefetch_weights(const Pass& pass) {
  if (pass.kind == PassKind::weight_grad) return;
  if (weights_.contains(key_of(pass)) || in_use_.contains(key_of(pass))) return;
  weights_[key_of(pass)] = gather(pass.stage, gradients_made_.iteration_of(pass), 1 + key_of(pass));
}

double Device::wait_for_weights(const Pass& pass, double now) {
  const bool by_pass = job_.conditions.zero >= 3;
  const auto found = weights_.find(by_pass ? key_of(pass) : pass.stage);
  if (found == weights_.end()) return now;
  const double end = finish(found->second);
  weights_.erase(found);
  if (by_pass) {
    in_use_.insert(key_of(pass));
    if (recorder_) recorder_->hold_weights(pass.stage, std::max(now, end));
  }
  gathering_ += std::max(0.0, end - now);
  return std::max(now, end);
}

void Device::drop_weights(const Pass& pass, double now) {
  if (in_use_.erase(key_of(pass)) == 0) return;
  if (recorder_) recorder_->drop_weights(pass.stage, now);
}

void Device::finish_iteration(std::uint32_t iteration) {
  trace::StepRow row{.device = unit_.device, .iteration = iteration, .start = now_};
  for (const Pass& pass : unreduced_) reduce_all(pass, now_);
  unreduced_.clear();
  row.reduced = now_;
  for (Pending& pending : gradients_) row.reduced = std::max(row.reduced, finish(pending));
  gradients_.clear();
  catch_up(row.reduced);
  if (const auto meeting = others_.embeddings(unit_, iteration)) {
    Pending pending{meeting,
                    {.device = unit_.device,
                     .stage = stages().front(),
                     .iteration = iteration,
                     .kind = trace::CollectiveKind::tie_embeddings,
                     .bytes = copies_.embedding_bytes(),
                     .posted = now_}};
    catch_up(row.reduced = finish(pending));
  }

  if (job_.waits_for_norm()) {
    const auto meeting = others_.norm(iteration);
    meeting->wait();
    now_ = std::max(now_, meeting->end_time() + copies_.norm_latency());
  }
  row.synchronized = now_;
  if (!job_.costs.optimizer_seconds.empty())
    now_ += job_.costs.optimizer_seconds[unit_.device] * straggler_factor(job_, unit_);
  row.updated = row.end = now_;
  if (job_.conditions.gathers_after()) {
    std::vector<Pending> gathers;
    for (const std::uint32_t stage : stages())
      if (copies_.has(stage)) gathers.push_back(gather(stage, iteration, 0));
    for (Pending& pending : gathers) row.end = std::max(row.end, finish(pending));
    now_ = row.end;
  }
  row.gathering = gathering_;
  gathering_ = 0;
  if (sink_ != nullptr) sink_->step(row);
  if (iteration + 1 < job_.schedule.iterations) fetch_weights(iteration + 1);
}

}  // namespace pipewright::execution
