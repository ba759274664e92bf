#include "sim/workload/schedule_source.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/checks.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/readable.hpp"
#include "sim/workload/building_block.hpp"

namespace pipewright::workload {
namespace {

using schedules::Schedule;

void check_parameters_agree(const Schedule& schedule, const schedules::Parameters& parameters,
                            const std::string& file) {
  const auto agree = [&](std::uint32_t requested, std::uint32_t actual, std::string_view unit,
                         std::string_view key) {
    if (requested != 0 && requested != actual)
      throw schedules::Error(
          fmt::format("{}: the file is a schedule of {} {}, but {} are "
                      "requested; set {} to {}",
                      file, actual, unit, requested, key, actual));
  };
  agree(parameters.devices, schedule.devices, "devices", "devices (-s)");
  agree(parameters.microbatches, schedule.microbatches, "microbatches", "microbatches (-b)");
  agree(parameters.chunks.value_or(0), schedule.chunks, "chunks per device", "chunks");
  constexpr std::uint64_t max_passes = 1ULL << 31U;
  if (schedule.size() > max_passes / parameters.iterations)
    throw schedules::Error(
        fmt::format("{}: the schedule has {} passes in each of {} iterations; allowed: "
                    "at most {} in total",
                    file, schedule.size(), parameters.iterations, max_passes));
}

// Throws schedules::Error if settings of catalog schedules are combined with a schedule file, which
// determines all of these itself.
void check_no_choices(const schedules::Parameters& parameters, const std::string& file) {
  const bool has_choice = std::ranges::any_of(schedules::choices, [&](const auto& info) {
    return info.choice != &schedules::Parameters::chunks && is_chosen(info, parameters);
  });
  if (has_choice)
    throw schedules::Error(
        fmt::format("{}: a schedule from a file takes no group size, slices, "
                    "recomputed chunks or fused pairs: the file determines what runs",
                    file));
}

Schedule schedule_from_torch(const std::string& file, const schedules::Parameters& parameters) {
  Schedule schedule = read_torch_file(file, parameters.legacy).schedule;
  check_parameters_agree(schedule, parameters, file);
  schedules::set_iterations(schedule, parameters.iterations);
  return schedule;
}

Schedule schedule_from_block(const std::string& file, const schedules::Parameters& parameters) {
  const config::BuildingBlock block = config::read_building_block_file(file);
  if (const std::uint32_t chunks = parameters.chunks.value_or(block.chunks); chunks != block.chunks)
    throw schedules::Error(
        fmt::format("{}: the block has {} chunks per device, but {} are requested", file,
                    block.chunks, chunks));
  return make_schedule(block, parameters.devices, parameters.microbatches, parameters.iterations);
}

std::string read_text(const std::string& file) {
  config::check_readable(file);
  const auto fail = [&](std::string_view why) {
    throw CannotRead(fmt::format("{}: cannot read: {}", file, why));
  };
  if (std::error_code ignored; std::filesystem::is_directory(file, ignored)) fail("it is a folder");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(std::generic_category().message(errno));
  std::string text;
  std::vector<char> piece(1U << 16U);
  while (stream && text.size() <= schedules::max_torch_bytes) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) fail("reading failed");
  return text;
}

std::string schedule_key(const std::string& name, const schedules::Parameters& parameters) {
  std::string key = fmt::format("{} {} {} {} {}", name, parameters.devices, parameters.microbatches,
                                parameters.iterations, parameters.legacy);
  for (const schedules::ChoiceInfo& info : schedules::choices) {
    const std::optional<std::uint32_t>& choice = parameters.*info.choice;
    key += choice ? fmt::format(" {}", *choice) : " -";
  }
  if (!planned_placement(name, parameters.devices)) return key;
  key += fmt::format(" {} {}", parameters.hop, parameters.input_grad_releases);
  for (const auto& seconds : parameters.device_times.of_stage)
    key.append(reinterpret_cast<const char*>(seconds.data()), seconds.size() * sizeof(double));
  return key;
}

std::size_t schedule_bytes(const schedules::Schedule& schedule) {
  std::size_t bytes = sizeof(schedule) + schedule.stages() * sizeof(std::uint32_t);
  for (const schedules::Program& program : schedule.programs) {
    bytes += sizeof(program);
    for (const schedules::Loop& loop : program.loops)
      bytes += sizeof(loop) + loop.body.capacity() * sizeof(schedules::Pass);
  }
  return bytes;
}

}  // namespace

schedules::TorchFile read_torch_file(const std::string& file, bool legacy) {
  return schedules::read_torch_csv(read_text(file), file, legacy);
}

bool places_transfers(const std::string& file) {
  const std::string text = read_text(file);
  return text.find("SEND_") != std::string::npos || text.find("RECV_") != std::string::npos;
}

std::optional<schedules::Routes> planned_placement(const std::string& name, std::uint32_t devices) {
  const auto entry = std::ranges::find(schedules::catalog(), name, &schedules::Entry::name);
  if (entry == schedules::catalog().end() || !entry->plans) return std::nullopt;
  return entry->placement({.devices = devices});
}

Schedule load_schedule(const std::string& name, const schedules::Parameters& parameters) {
  const config::ScheduleSource source = config::schedule_source(name);
  if (parameters.legacy && source != config::ScheduleSource::torch_file)
    throw schedules::Error(fmt::format("--legacy is for a .csv file, not '{}'", name));
  if (config::is_file(source)) check_no_choices(parameters, name);
  Schedule schedule = [&] {
    switch (source) {
      case config::ScheduleSource::torch_file:
        return schedule_from_torch(name, parameters);
      case config::ScheduleSource::building_block:
        return schedule_from_block(name, parameters);
      case config::ScheduleSource::search:
        throw schedules::Error(
            "'searched' is an order for the costs of a scenario ('run', 'search'); use 'schedule "
            "search' to find an order for given times");
      case config::ScheduleSource::catalog:
        break;
    }
    return schedules::make_schedule(name, parameters);
  }();
  schedules::check_complete(schedule);
  return schedule;
}

ScheduleCache::Shared ScheduleCache::load(const std::string& name,
                                          const schedules::Parameters& parameters) {
  std::string key = schedule_key(name, parameters);
  if (const auto match = by_key_.find(key); match != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, match->second);
    return match->second->schedule;
  }
  auto schedule = std::make_shared<const schedules::Schedule>(load_schedule(name, parameters));
  const std::size_t bytes = schedule_bytes(*schedule) + key.size();
  if (bytes > capacity_) return schedule;
  entries_.push_front({std::move(key), schedule, bytes});
  by_key_.emplace(entries_.front().key, entries_.begin());
  for (bytes_ += bytes; bytes_ > capacity_; entries_.pop_back()) {
    bytes_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
  }
  return schedule;
}

}  // namespace pipewright::workload
