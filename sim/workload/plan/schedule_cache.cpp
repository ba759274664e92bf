#include "sim/workload/plan/schedule_cache.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/workload/schedule_source.hpp"

namespace pipewright::workload {
namespace {

std::string key_of(const std::string& name, const schedules::Parameters& parameters) {
  std::string key = fmt::format("{} {} {} {}", name, parameters.devices, parameters.microbatches,
                                parameters.iterations);
  for (const schedules::ChoiceInfo& info : schedules::choices) {
    const std::optional<std::uint32_t>& choice = parameters.*info.choice;
    key += choice ? fmt::format(" {}", *choice) : " -";
  }
  if (!plans_for_times(name)) return key;
  key += fmt::format(" {} {}", parameters.hop, parameters.input_grad_releases);
  for (const auto& of_device : parameters.device_times.of_stage)
    key.append(reinterpret_cast<const char*>(of_device.data()), of_device.size() * sizeof(double));
  return key;
}

std::size_t bytes_of(const schedules::Schedule& schedule) {
  std::size_t bytes = sizeof(schedule) + schedule.stages() * sizeof(std::uint32_t);
  for (const schedules::Program& program : schedule.programs) {
    bytes += sizeof(program);
    for (const schedules::Loop& loop : program.loops)
      bytes += sizeof(loop) + loop.body.capacity() * sizeof(schedules::Pass);
  }
  return bytes;
}

}  // namespace

ScheduleCache::Shared ScheduleCache::load(const std::string& name,
                                          const schedules::Parameters& parameters) {
  std::string key = key_of(name, parameters);
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return known->second->schedule;
  }
  auto schedule = std::make_shared<const schedules::Schedule>(load_schedule(name, parameters));
  const std::size_t bytes = bytes_of(*schedule) + key.size();
  if (bytes > most_) return schedule;
  entries_.push_front({std::move(key), schedule, bytes});
  by_key_.emplace(entries_.front().key, entries_.begin());
  for (bytes_ += bytes; bytes_ > most_; entries_.pop_back()) {
    bytes_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
  }
  return schedule;
}

}  // namespace pipewright::workload
