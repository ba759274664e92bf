#include "analysis/page/row_columns.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/page/varints.hpp"
#include "analysis/timeline/boxes.hpp"

namespace pipewright::analysis {
namespace {

using Passes = std::vector<const trace::PassRow*>;  // of a device

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

}  // namespace

std::string row_columns(const trace::Trace& trace, double ticks_per_s) {
  const std::vector<Passes> devices = passes_by_device(trace);
  const Ticks ticks(ticks_per_s);
  std::string bytes;
  for (const Passes& passes : devices) put(bytes, passes.size());
  put_times(bytes, devices, ticks);
  put_names(bytes, devices);
  return bytes;
}

}  // namespace pipewright::analysis
