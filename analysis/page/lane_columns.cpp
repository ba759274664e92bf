#include "analysis/page/lane_columns.hpp"

#include <array>
#include <vector>

#include "analysis/page/idle_columns.hpp"
#include "analysis/page/transfer_columns.hpp"

namespace pipewright::analysis {
namespace {

template <class Row>
using ByDevice = std::vector<std::vector<const Row*>>;

template <class Row>
ByDevice<Row> by_device(const std::vector<Row>& rows, std::size_t devices) {
  ByDevice<Row> sorted(devices);
  for (const Row& row : rows) sorted.at(row.device).push_back(&row);
  return sorted;
}

template <class Row, class Value>
void put_column(std::string& bytes, const ByDevice<Row>& devices, Value&& value) {
  for (const auto& rows : devices)
    for (const Row* row : rows) put_signed(bytes, value(*row));
}

template <class Row, class Value>
void put_chain(std::string& bytes, const ByDevice<Row>& devices, Value&& value) {
  for (const auto& rows : devices) {
    std::int64_t before = 0;
    for (const Row* row : rows) {
      const auto now = static_cast<std::int64_t>(value(*row));
      put_signed(bytes, now - before);
      before = now;
    }
  }
}

void put_collectives(std::string& bytes, const trace::Trace& trace, const Ticks& ticks) {
  using Row = trace::CollectiveRow;
  const auto devices = by_device(trace.collectives, trace.devices.size());
  for (const auto& rows : devices) put(bytes, rows.size());
  for (const auto& rows : devices)
    for (const Row* row : rows) put(bytes, static_cast<std::uint64_t>(row->kind));
  put_chain(bytes, devices, [](const Row& row) { return row.stage; });
  put_chain(bytes, devices, [](const Row& row) { return row.iteration; });
  put_chain(bytes, devices, [](const Row& row) { return row.bytes; });
  put_chain(bytes, devices, [&](const Row& row) { return ticks(row.posted); });
  put_column(bytes, devices, [&](const Row& row) { return ticks(row.start) - ticks(row.posted); });
  put_column(bytes, devices, [&](const Row& row) { return ticks(row.end) - ticks(row.start); });
}

void put_steps(std::string& bytes, const trace::Trace& trace, const Ticks& ticks) {
  using Row = trace::StepRow;
  const auto devices = by_device(trace.steps, trace.devices.size());
  for (const auto& rows : devices) put(bytes, rows.size());
  put_chain(bytes, devices, [](const Row& row) { return row.iteration; });
  for (const auto& rows : devices) {
    std::int64_t before = 0;
    for (const Row* row : rows) {
      put_signed(bytes, ticks(row->start) - before);
      before = ticks(row->end);
    }
  }
  const std::array times{&Row::start, &Row::reduced, &Row::synchronized, &Row::updated, &Row::end};
  for (std::size_t i = 1; i < times.size(); ++i)
    put_column(bytes, devices,
               [&](const Row& row) { return ticks(row.*times[i]) - ticks(row.*times[i - 1]); });
  put_column(bytes, devices, [&](const Row& row) { return ticks(row.gathering); });
}

void put_stages(std::string& bytes, const trace::Trace& trace, const Ticks& ticks) {
  put(bytes, trace.stages.size());
  for (const trace::StageRow& row : trace.stages) {
    put(bytes, row.stage);
    put(bytes, row.device);
    for (const double s : {row.waits_f, row.waits_i, row.waits_w, row.waits_b, row.waits_r})
      put(bytes, static_cast<std::uint64_t>(ticks(s)));
  }
}

void put_paths(std::string& bytes, const trace::Trace& trace, const Ticks& ticks) {
  put(bytes, trace.paths.size());
  for (const trace::PathRow& row : trace.paths) {
    put(bytes, static_cast<std::uint64_t>(row.traffic));
    put(bytes, row.source);
    put(bytes, row.destination);
    put(bytes, row.stage);
    put(bytes, row.link == trace::no_link ? 0 : std::uint64_t{row.link} + 1);
    put(bytes, static_cast<std::uint64_t>(ticks(row.alone)));
  }
}

}  // namespace

std::string lane_columns(const trace::Trace& trace, double ticks_per_s) {
  const Ticks ticks(ticks_per_s);
  const TraceIndex index(trace);
  const std::vector<std::int64_t> places = pass_places(trace);
  const auto transfers = transfers_by_taker(trace, index, places);
  std::string bytes;
  put_transfers(bytes, trace, transfers, ticks);
  put_collectives(bytes, trace, ticks);
  put_steps(bytes, trace, ticks);
  put_stages(bytes, trace, ticks);
  put_paths(bytes, trace, ticks);
  put_idle(bytes, trace, idle_times(trace, index), transfers, ticks);
  put_critical_path(bytes, critical_path(trace, index), places, ticks);
  return bytes;
}

}  // namespace pipewright::analysis
