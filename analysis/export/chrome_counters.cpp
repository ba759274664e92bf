#include "analysis/export/chrome_counters.hpp"

#include <cmath>

#include "analysis/export/nanoseconds.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t most_links = 16;

template <class Values>
std::string args_of(trace::ColumnType type, const char* unit, const Values& values,
                    const std::array<bool, std::tuple_size_v<Values>>& seen) {
  std::string args;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (seen[i])
      fmt::format_to(std::back_inserter(args), FMT_COMPILE("{}\"{}_{}\":{}"),
                     args.empty() ? "" : ",", trace::enum_names(type)[i], unit, values[i]);
  return args;
}

}  // namespace

void MemoryCounters::add(ChromeEvents& events, const trace::MemoryRow& row) {
  Device& device = devices_.at(row.device);
  const std::int64_t time = nanoseconds(row.time);
  if (device.pending && time != device.time) write(events, row.device + 1, device);
  device.time = time;
  device.pending = true;
  const auto category = static_cast<std::size_t>(row.category);
  device.seen.at(category) = true;
  device.bytes[category] = row.bytes;
}

void MemoryCounters::finish(ChromeEvents& events) {
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].pending) write(events, static_cast<std::uint32_t>(i + 1), devices_[i]);
}

void MemoryCounters::write(ChromeEvents& events, std::uint32_t process, Device& device) {
  events.counter(process, "\"memory\"", device.time,
                 args_of(trace::ColumnType::memory_category, "bytes", device.bytes, device.seen));
  device.pending = false;
}

void LinkCounters::add(const trace::LinkRow& row) {
  if (links_.size() < most_links) links_.push_back({json_text(row.name), {}, {}});
}

void LinkCounters::add(const trace::LinkUseRow& row) {
  const std::int64_t start = nanoseconds(row.start);
  const std::int64_t end = nanoseconds(row.end);
  if (row.link >= links_.size() || start >= end) return;
  Link& link = links_[row.link];
  const auto traffic = static_cast<std::size_t>(row.traffic);
  const double rate = static_cast<double>(row.bytes) / (row.end - row.start);
  link.seen.at(traffic) = true;
  link.changes[start][traffic] += rate;
  link.changes[end][traffic] -= rate;
}

void LinkCounters::finish(ChromeEvents& events, std::uint32_t process) const {
  bool named = false;
  for (const Link& link : links_) {
    Rates rates{};
    for (const auto& [time, change] : link.changes) {
      if (!named) events.process(process, "links", process);
      named = true;
      for (std::size_t i = 0; i < rates.size(); ++i) {
        const double before = rates[i];
        rates[i] += change[i];
        if (rates[i] < 1e-9 * before) rates[i] = 0;  // what rounding leaves of a sum
      }
      events.counter(process, link.quoted_name, time,
                     args_of(trace::ColumnType::traffic_class, "bytes_per_s", rates, link.seen));
    }
  }
}

}  // namespace pipewright::analysis
