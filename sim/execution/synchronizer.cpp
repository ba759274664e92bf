#include "sim/execution/synchronizer.hpp"

namespace pipewright::execution {

Synchronizer::Synchronizer(const Job& job, const Copies& copies, double epoch, Talk& talk)
    : job_(job), epoch_(epoch), talk_(talk), copies_(copies), streams_(job.schedule.devices) {}

trace::TrafficClass Synchronizer::class_of(What what) {
  switch (what) {
    case What::gradients:
      return trace::TrafficClass::reduce_gradients;
    case What::weights:
      return trace::TrafficClass::gather_weights;
    case What::embeddings:
      return trace::TrafficClass::tie_embeddings;
    case What::norm:  // a number, which takes latency alone
    case What::call:
      break;
  }
  return trace::TrafficClass::in_passes;
}

Synchronizer::Joined Synchronizer::join(const Key& key, std::uint32_t members, Attendance* who,
                                        Stream* stream, const Legs& legs) {
  auto place = open_.find(key);
  if (place == open_.end()) {
    auto run = [this, talk = legs(), traffic = class_of(key.what)](
                   const std::function<void()>& done) { talk_.run(talk, traffic, done); };
    place =
        open_.emplace(key, std::pair{members, std::make_shared<Meeting>(epoch_, std::move(run))})
            .first;
  }
  Joined meeting = place->second.second;
  meeting->arrive(who);
  if (--place->second.first > 0) return meeting;
  open_.erase(place);
  if (stream != nullptr)
    stream->add(meeting);
  else
    meeting->start([meeting] {});
  return meeting;
}

Synchronizer::Joined Synchronizer::gradients(std::uint32_t stage, std::uint32_t iteration,
                                             std::uint64_t index, Attendance* who) {
  return join({What::gradients, stage, iteration, index}, copies_.members(stage), who,
              &streams_[copies_.holders(stage).front()], [&] { return copies_.gradients(stage); });
}

Synchronizer::Joined Synchronizer::weights(std::uint32_t stage, std::uint32_t iteration,
                                           std::uint64_t index, Attendance* who) {
  return join({What::weights, stage, iteration, index}, copies_.members(stage), who,
              &streams_[copies_.holders(stage).front()], [&] { return copies_.weights(stage); });
}

Synchronizer::Joined Synchronizer::embeddings(Unit unit, std::uint32_t iteration) {
  if (!copies_.ties_embeddings(unit.device)) return nullptr;
  return join({What::embeddings, unit.replica, iteration, 0}, 2, nullptr, nullptr,
              [&] { return copies_.embeddings(unit.replica); });
}

Synchronizer::Joined Synchronizer::norm(std::uint32_t iteration) {
  const std::uint32_t members = job_.simulated_replicas() * job_.schedule.devices;
  return join({What::norm, 0, iteration, 0}, members, nullptr, nullptr,
              [] { return std::vector<Copies::Leg>{}; });
}

Synchronizer::Joined Synchronizer::call(Unit unit, const workload::Call& call, std::uint64_t count,
                                        Attendance* who) {
  const std::uint32_t number = copies_.party_of(call.group, unit);
  const Copies::Party& party = copies_.party(call.group, number);
  const auto place = number * static_cast<std::uint32_t>(workload::group_kinds) +
                     static_cast<std::uint32_t>(call.group);
  return join({What::call, place, 0, count}, party.members, who, nullptr, [&] {
    return std::vector<Copies::Leg>{{&party.groups, call.collective, call.bytes}};
  });
}

}  // namespace pipewright::execution
