#include "analysis/page/memory_columns.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/page/varints.hpp"

namespace pipewright::analysis {
namespace {

struct Change {
  std::int64_t time;
  std::size_t category;
  std::int64_t difference;
};

std::vector<std::vector<Change>> changes_by_device(const trace::Trace& trace, const Ticks& ticks) {
  std::vector<std::vector<Change>> devices(trace.devices.size());
  std::vector<std::array<std::uint64_t, trace::memory_categories>> held(devices.size());
  for (const trace::MemoryRow& row : trace.memory) {
    const auto category = static_cast<std::size_t>(row.category);
    std::uint64_t& before = held.at(row.device).at(category);
    if (row.bytes == before) continue;
    const auto difference = static_cast<std::int64_t>(row.bytes - before);  // wraps as it should
    devices[row.device].push_back({ticks(row.time), category, difference});
    before = row.bytes;
  }
  return devices;
}

}  // namespace

std::string memory_columns(const trace::Trace& trace, double ticks_per_s) {
  const auto devices = changes_by_device(trace, Ticks(ticks_per_s));
  std::string bytes;
  for (const auto& changes : devices) put(bytes, changes.size());
  for (const auto& changes : devices) {
    std::int64_t before = 0;
    for (const Change& change : changes) {
      put_signed(bytes, change.time - before);
      before = change.time;
    }
  }
  for (const auto& changes : devices)
    for (const Change& change : changes) put(bytes, change.category);
  for (const auto& changes : devices)
    for (const Change& change : changes) put_signed(bytes, change.difference);
  return bytes;
}

}  // namespace pipewright::analysis
