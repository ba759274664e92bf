#include "sim/execution/simgrid/synchronizer.hpp"

#include <algorithm>
#include <utility>

#include "sim/execution/same_time.hpp"
#include "sim/execution/simgrid/carry.hpp"

namespace pipewright::execution {

void CollectiveInstance::arrive(CollectiveListener* listener) {
  if (listener == nullptr) return;
  listeners_.push_back(listener);
  listener->collective_joined();
}

void CollectiveInstance::start(std::function<void()> after) {
  start_ = now();
  for (CollectiveListener* listener : listeners_) listener->collective_started();
  run_([this, after = std::move(after)] {
    end_ = now();
    over_ = true;
    for (CollectiveListener* listener : listeners_) listener->collective_ended();
    for (; waiting_ > 0; --waiting_) ended_->release();
    after();
  });
}

void CollectiveInstance::wait() {
  if (over_) return;
  ++waiting_;
  ended_->acquire();
}

void Stream::add(std::shared_ptr<CollectiveInstance> collective) {
  ready_.push_back(std::move(collective));
  if (!busy_) next();
}

void Stream::next() {
  busy_ = !ready_.empty();
  if (!busy_) return;
  const std::shared_ptr<CollectiveInstance> collective = std::move(ready_.front());
  ready_.pop_front();
  collective->start([this, collective] { next(); });
}

void CollectiveRunner::run(const std::vector<CollectiveOp>& ops, trace::TrafficClass traffic,
                           const std::function<void()>& done) {
  LinkAccount account = account_;
  account.traffic = traffic;
  run_from(std::make_shared<const std::vector<CollectiveOp>>(ops), 0, account, done);
}

void CollectiveRunner::run_from(const std::shared_ptr<const std::vector<CollectiveOp>>& ops,
                                std::size_t at, const LinkAccount& account,
                                const std::function<void()>& done) {
  while (at < ops->size() && wiring_.transfer_plans((*ops)[at]).empty()) ++at;
  if (at == ops->size()) return done();
  const Wiring::TransferPlans& transfer_plans = wiring_.transfer_plans((*ops)[at]);
  const auto remaining = std::make_shared<std::size_t>(transfer_plans.size());
  const auto after = [this, ops, at, remaining, account, done] {
    if (--*remaining == 0) run_from(ops, at + 1, account, done);
  };
  for (const auto& transfer_plan : transfer_plans) start(transfer_plan, after, account);
}

Synchronizer::Synchronizer(const Job& job, const ReplicaGroups& replica_groups, double epoch,
                           CollectiveRunner& runner)
    : job_(job),
      epoch_(epoch),
      runner_(runner),
      replica_groups_(replica_groups),
      streams_(job.schedule.devices) {}

trace::TrafficClass Synchronizer::class_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::gradients:
      return trace::TrafficClass::reduce_gradients;
    case Purpose::weights:
      return trace::TrafficClass::gather_weights;
    case Purpose::embeddings:
      return trace::TrafficClass::tie_embeddings;
    case Purpose::norm:  // one number, which takes only latency
    case Purpose::call:
      break;
  }
  return trace::TrafficClass::in_passes;
}

Synchronizer::Joined Synchronizer::join(const Key& key, ReplicaDevice copy, std::uint32_t members,
                                        CollectiveListener* listener, Stream* stream,
                                        const Ops& ops) {
  auto it = open_.find(key);
  if (it == open_.end()) {
    auto run = [this, collectives = ops(), traffic = class_of(key.purpose)](
                   const std::function<void()>& done) { runner_.run(collectives, traffic, done); };
    it = open_
             .emplace(
                 key,
                 Open{members, std::make_shared<CollectiveInstance>(epoch_, std::move(run)), {}})
             .first;
  }
  Joined collective = it->second.collective;
  collective->arrive(listener);
  it->second.last.add(copy, cluster::sg4::Engine::get_clock() - epoch_, job_.reported_replica);
  if (--it->second.members > 0) return collective;
  note_wait(key, it->second.last);
  open_.erase(it);
  if (stream != nullptr)
    stream->add(collective);
  else
    collective->start([collective] {});
  return collective;
}

// Several members may be last at once. The reported replica, if it is one of them, waits for no
// other.
void Synchronizer::Last::add(ReplicaDevice member, double now, std::uint32_t reported_replica) {
  const bool is_later = now > time + same_time;
  const bool is_reported = member.replica == reported_replica && now >= time - same_time;
  if (is_later || (is_reported && copy.replica != reported_replica)) copy = member;
  time = std::max(time, now);
}

void Synchronizer::note_wait(const Key& key, const Last& last) {
  if (last.copy.replica == job_.reported_replica) return;
  // The parts of a stage's weights follow each other, so that only the first one waits.
  if (key.purpose == Purpose::weights && key.part.part > 0) return;
  std::optional<trace::WaitEvent> event;
  if (key.purpose == Purpose::gradients) event = trace::WaitEvent::reduce_gradients;
  if (key.purpose == Purpose::weights) event = trace::WaitEvent::gather_weights;
  if (key.purpose == Purpose::norm) event = trace::WaitEvent::norm;
  if (event) add_wait(*event, key.part.iteration, key.part.stage, last);
}

void Synchronizer::add_wait(trace::WaitEvent event, std::uint32_t iteration, std::uint32_t stage,
                            const Last& last) {
  waits_.push_back({.iteration = iteration,
                    .event = event,
                    .stage = stage,
                    .replica = last.copy.replica,
                    .device = last.copy.device,
                    .time = last.time});
}

void Synchronizer::ended(ReplicaDevice copy, std::uint32_t iteration, double end) {
  if (ends_.size() <= iteration) ends_.resize(iteration + 1);
  ends_[iteration].add(copy, end, job_.reported_replica);
}

void Synchronizer::report_waits(trace::Sink& sink) {
  for (std::uint32_t iteration = 0; iteration < ends_.size(); ++iteration)
    if (ends_[iteration].copy.replica != job_.reported_replica)
      add_wait(trace::WaitEvent::end, iteration, 0, ends_[iteration]);
  for (const trace::WaitRow& row : waits_) sink.wait(row);
  waits_.clear();
}

Synchronizer::Joined Synchronizer::gradients(ReplicaDevice copy, const PartOfStage& part,
                                             CollectiveListener* listener) {
  return join({.purpose = Purpose::gradients, .part = part}, copy,
              replica_groups_.members(part.stage), listener,
              &streams_[replica_groups_.holders(part.stage).front()],
              [&] { return replica_groups_.gradients(part.stage, part.with_copies); });
}

Synchronizer::Joined Synchronizer::weights(ReplicaDevice copy, const PartOfStage& part,
                                           CollectiveListener* listener) {
  return join(
      {.purpose = Purpose::weights, .part = part}, copy, replica_groups_.members(part.stage),
      listener, &streams_[replica_groups_.holders(part.stage).front()], [&] {
        const std::uint32_t times = part.pass ? job_.conditions.gathers_in(part.pass->kind) : 1;
        return replica_groups_.weights(part.stage, part.with_copies, times);
      });
}

Synchronizer::Joined Synchronizer::embeddings(ReplicaDevice copy, std::uint32_t iteration) {
  if (!replica_groups_.ties_embeddings(copy.device)) return nullptr;
  return join(
      {.purpose = Purpose::embeddings, .index = copy.replica, .part = {.iteration = iteration}},
      copy, 2, nullptr, nullptr, [&] { return replica_groups_.embeddings(copy.replica); });
}

Synchronizer::Joined Synchronizer::norm(ReplicaDevice copy, std::uint32_t iteration) {
  const auto members =
      static_cast<std::uint32_t>(replica_groups_.simulated().size() * job_.schedule.devices);
  return join({.purpose = Purpose::norm, .part = {.iteration = iteration}}, copy, members, nullptr,
              nullptr, [] { return std::vector<CollectiveOp>{}; });
}

Synchronizer::Joined Synchronizer::call(ReplicaDevice copy, const workload::Call& call,
                                        std::uint64_t count, CollectiveListener* listener) {
  const std::uint32_t number = replica_groups_.process_group_of(call.group, copy);
  const Key key{.purpose = Purpose::call, .group = call.group, .index = number, .call = count};
  return join(key, copy, replica_groups_.process_group(call.group, number).members, listener,
              nullptr, [&] { return std::vector{replica_groups_.op(call, copy)}; });
}

}  // namespace pipewright::execution
