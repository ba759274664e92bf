#include "analysis/page/row_columns.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "analysis/timeline/device_rows.hpp"

namespace pipewright::analysis {
namespace {

using Passes = std::vector<const trace::PassRow*>;  // of a device

void put(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void put_signed(std::string& bytes, std::int64_t value) {
  const auto twice = static_cast<std::uint64_t>(value) << 1;
  put(bytes, value < 0 ? ~twice : twice);
}

class Ticks {
 public:
  explicit Ticks(double per_s) : per_s_(per_s) {}
  std::int64_t operator()(double s) const { return std::llround(s * per_s_); }

 private:
  double per_s_;
};

void put_times(std::string& bytes, const std::vector<Passes>& devices, const Ticks& ticks) {
  for (const Passes& passes : devices) {
    std::int64_t previous_end = 0;
    for (const trace::PassRow* pass : passes) {
      put_signed(bytes, ticks(pass->start) - previous_end);
      previous_end = ticks(pass->end);
    }
  }
  const auto column = [&](auto&& difference) {
    for (const Passes& passes : devices)
      for (const trace::PassRow* pass : passes) put_signed(bytes, difference(*pass));
  };
  column([&](const trace::PassRow& pass) { return ticks(pass.end) - ticks(pass.start); });
  column([&](const trace::PassRow& pass) { return ticks(pass.released) - ticks(pass.end); });
  column([&](const trace::PassRow& pass) { return ticks(pass.start) - ticks(pass.ready); });
}

void put_names(std::string& bytes, const std::vector<Passes>& devices) {
  for (const Passes& passes : devices) {
    std::int64_t previous = 0;
    for (const trace::PassRow* pass : passes) {
      const auto kind = static_cast<std::int64_t>(pass->kind);
      put_signed(bytes, kind - previous);
      previous = kind;
    }
  }
  using Member = std::uint32_t trace::PassRow::*;
  for (const Member member : {&trace::PassRow::stage, &trace::PassRow::chunk,
                              &trace::PassRow::microbatch, &trace::PassRow::iteration}) {
    for (const Passes& passes : devices) {
      std::array<std::int64_t, trace::pass_kinds> previous{};
      for (const trace::PassRow* pass : passes) {
        std::int64_t& before = previous[static_cast<std::size_t>(pass->kind)];
        put_signed(bytes, static_cast<std::int64_t>(pass->*member) - before);
        before = pass->*member;
      }
    }
  }
}

void put_memory(std::string& bytes, const trace::Trace& trace, const Ticks& ticks) {
  struct Change {
    std::int64_t time;
    std::int64_t total;
  };
  std::vector<std::vector<Change>> devices(trace.devices.size());
  std::vector<std::array<std::uint64_t, trace::memory_categories>> held(devices.size());
  for (const trace::MemoryRow& row : trace.memory) {
    auto& categories = held.at(row.device);
    categories.at(static_cast<std::size_t>(row.category)) = row.bytes;
    const auto total = std::accumulate(categories.begin(), categories.end(), std::uint64_t{0});
    devices[row.device].push_back({ticks(row.time), static_cast<std::int64_t>(total)});
  }
  for (const auto& changes : devices) put(bytes, changes.size());
  for (const auto member : {&Change::time, &Change::total}) {
    for (const auto& changes : devices) {
      std::int64_t before = 0;
      for (const Change& change : changes) {
        put_signed(bytes, change.*member - before);
        before = change.*member;
      }
    }
  }
}

}  // namespace

std::string row_columns(const trace::Trace& trace, double ticks_per_s) {
  const std::vector<Passes> devices = passes_by_device(trace);
  const Ticks ticks(ticks_per_s);
  std::string bytes;
  for (const Passes& passes : devices) put(bytes, passes.size());
  put_times(bytes, devices, ticks);
  put_names(bytes, devices);
  put_memory(bytes, trace, ticks);
  return bytes;
}

}  // namespace pipewright::analysis
