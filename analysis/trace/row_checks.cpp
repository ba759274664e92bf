#include "analysis/trace/row_checks.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

namespace pipewright::trace {
namespace {

using Wrong = std::optional<std::string>;

struct Count {
  const char* name;
  std::uint64_t value;
  std::uint64_t limit;
};

struct Time {
  const char* name;
  double value;
};

Wrong check_counts(std::initializer_list<Count> counts) {
  for (const Count& count : counts)
    if (count.value >= count.limit)
      return fmt::format("{} is {}: less than {} was expected", count.name, count.value,
                         count.limit);
  return {};
}

// Engines merge events that are this close, so that one may seem to come before its cause.
constexpr double tolerance_s = 1e-9;

// Each is a time, and none is before the one before it.
Wrong check_times(std::initializer_list<Time> times) {
  Time before{"the start of the run", 0};
  for (const Time& time : times) {
    if (!std::isfinite(time.value) || time.value < 0)
      return fmt::format("{} is {}: seconds from the start of the run were expected", time.name,
                         time.value);
    if (time.value < before.value - tolerance_s)
      return fmt::format("{} is {}, before {} at {}", time.name, time.value, before.name,
                         before.value);
    before = time;
  }
  return {};
}

}  // namespace

RowChecks::RowChecks(const RunInfo& run)
    : devices_(run.devices),
      chunks_(run.chunks),
      iterations_(run.iterations),
      microbatches_(std::uint64_t{run.microbatches} * run.slices * run.iterations),
      previous_(run.devices),
      memory_time_(run.devices, 0) {}

Wrong RowChecks::wrong(const StageRow& row) {
  stages_ = std::max(stages_, std::uint64_t{row.stage} + 1);
  return check_counts({{"device", row.device, devices_}, {"chunk", row.chunk, chunks_}});
}

Wrong RowChecks::wrong(const PassRow& row) {
  if (auto bad = check_counts({{"device", row.device, devices_},
                               {"stage", row.stage, stages_},
                               {"chunk", row.chunk, chunks_},
                               {"microbatch", row.microbatch, microbatches_},
                               {"iteration", row.iteration, iterations_},
                               {"kind", static_cast<std::uint64_t>(row.kind), pass_kinds}}))
    return bad;
  if (auto bad = check_times({{"sent", row.sent},
                              {"ready", row.ready},
                              {"start", row.start},
                              {"end", row.end},
                              {"released", row.released}}))
    return bad;
  Span& previous = previous_[row.device];
  const bool fused = row.start == previous.start && row.end == previous.end &&
                     (row.kind == PassKind::forward) != (previous.kind == PassKind::forward);
  if (!fused && row.start < previous.end - tolerance_s)
    return fmt::format("start is {}, but the pass before on device {} ends at {}", row.start,
                       row.device, previous.end);
  previous = {row.start, row.end, row.kind};
  return {};
}

Wrong RowChecks::wrong(const TransferRow& row) {
  if (auto bad = check_counts({{"source", row.source, devices_},
                               {"destination", row.destination, devices_},
                               {"stage", row.stage, stages_},
                               {"microbatch", row.microbatch, microbatches_},
                               {"kind", static_cast<std::uint64_t>(row.kind), 2}}))
    return bad;
  return check_times({{"posted", row.posted}, {"start", row.start}, {"end", row.end}});
}

Wrong RowChecks::wrong(const MemoryRow& row) {
  if (auto bad =
          check_counts({{"device", row.device, devices_},
                        {"category", static_cast<std::uint64_t>(row.category), memory_categories}}))
    return bad;
  if (auto bad = check_times({{"time", row.time}})) return bad;
  if (row.time < memory_time_[row.device] - tolerance_s)
    return fmt::format("time is {}, before the row before of device {} at {}", row.time, row.device,
                       memory_time_[row.device]);
  memory_time_[row.device] = row.time;
  return {};
}

Wrong RowChecks::wrong(const CollectiveRow& row) const {
  if (auto bad = check_counts({{"device", row.device, devices_},
                               {"stage", row.stage, stages_},
                               {"iteration", row.iteration, iterations_},
                               {"kind", static_cast<std::uint64_t>(row.kind), collective_kinds}}))
    return bad;
  return check_times({{"posted", row.posted}, {"start", row.start}, {"end", row.end}});
}

Wrong RowChecks::wrong(const StepRow& row) const {
  if (auto bad = check_counts(
          {{"device", row.device, devices_}, {"iteration", row.iteration, iterations_}}))
    return bad;
  if (auto bad = check_times({{"gathering", row.gathering}})) return bad;
  return check_times({{"start", row.start},
                      {"reduced", row.reduced},
                      {"synchronized", row.synchronized},
                      {"updated", row.updated},
                      {"end", row.end}});
}

Wrong RowChecks::wrong(const LinkRow& row) {
  if (row.link != links_++) return fmt::format("link is {}: {} was expected", row.link, links_ - 1);
  if (!(row.bandwidth > 0))
    return fmt::format("bandwidth is {}: bytes/s above 0 were expected", row.bandwidth);
  return {};
}

Wrong RowChecks::wrong(const LinkUseRow& row) const {
  if (auto bad =
          check_counts({{"link", row.link, links_},
                        {"traffic", static_cast<std::uint64_t>(row.traffic), traffic_classes}}))
    return bad;
  if (auto bad = check_times({{"flows", row.flows}})) return bad;
  if (auto bad = check_times({{"waited", row.waited}})) return bad;
  return check_times({{"start", row.start}, {"end", row.end}});
}

Wrong RowChecks::wrong(const PathRow& row) const {
  if (auto bad =
          check_counts({{"traffic", static_cast<std::uint64_t>(row.traffic), traffic_classes},
                        {"source", row.source, devices_},
                        {"destination", row.destination, devices_},
                        {"stage", row.stage, stages_}}))
    return bad;
  if (row.link != no_link)
    if (auto bad = check_counts({{"link", row.link, links_}})) return bad;
  return check_times({{"alone", row.alone}});
}

}  // namespace pipewright::trace
