#include "analysis/page/transfer_columns.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "analysis/timeline/boxes.hpp"

namespace pipewright::analysis {
namespace {

using Transfers = std::vector<std::vector<PlacedTransfer>>;

// `value(transfer)` less that of the transfer of its kind before to the same device.
template <class Value>
void put_differences(std::string& bytes, const Transfers& devices, Value&& value) {
  for (const auto& transfers : devices) {
    std::array<std::int64_t, 2> before{};
    for (const PlacedTransfer& transfer : transfers) {
      std::int64_t& previous = before.at(static_cast<std::size_t>(transfer.row->kind));
      const auto now = static_cast<std::int64_t>(value(transfer));
      put_signed(bytes, now - previous);
      previous = now;
    }
  }
}

// The same with that of whatever kind.
template <class Value>
void put_chain(std::string& bytes, const Transfers& devices, Value&& value) {
  for (const auto& transfers : devices) {
    std::int64_t previous = 0;
    for (const PlacedTransfer& transfer : transfers) {
      const auto now = static_cast<std::int64_t>(value(transfer));
      put_signed(bytes, now - previous);
      previous = now;
    }
  }
}

void put_times(std::string& bytes, const trace::Trace& trace, const Transfers& devices,
               const Ticks& ticks) {
  const auto passes = passes_by_device(trace);
  const auto pass = [&](std::uint32_t device, std::int64_t place) -> const trace::PassRow& {
    return *passes[device][static_cast<std::size_t>(place)];
  };
  for (const auto& transfers : devices)
    for (const auto& [row, maker, taker] : transfers) {
      const bool taken = taker != no_place;
      const std::int64_t ready = taken ? ticks(pass(row->destination, taker).ready) : 0;
      put_signed(bytes, ticks(row->end) - ready);
    }
  for (const auto& transfers : devices)
    for (const auto& [row, maker, taker] : transfers) {
      const bool made = maker != no_place;
      const double made_s = made ? pass(row->source, maker).end : row->end;
      put_signed(bytes, ticks(row->posted) - ticks(made_s));
    }
  for (const auto& transfers : devices)
    for (const PlacedTransfer& transfer : transfers)
      put_signed(bytes, ticks(transfer.row->start) - ticks(transfer.row->posted));
}

}  // namespace

std::vector<std::int64_t> pass_places(const trace::Trace& trace) {
  std::vector<std::int64_t> count(trace.devices.size());
  std::vector<std::int64_t> places;
  places.reserve(trace.passes.size());
  for (const trace::PassRow& pass : trace.passes) places.push_back(count.at(pass.device)++);
  return places;
}

std::vector<std::vector<PlacedTransfer>> transfers_by_taker(
    const trace::Trace& trace, const TraceIndex& index, const std::vector<std::int64_t>& places) {
  std::vector<PlacedTransfer> all;
  all.reserve(trace.transfers.size());
  for (const trace::TransferRow& row : trace.transfers) all.push_back({.row = &row});
  for (std::size_t i = 0; i < trace.passes.size(); ++i) {
    const std::size_t number = index.transfer_to(trace.passes[i]);
    if (number == no_row) continue;
    PlacedTransfer& transfer = all[number];
    if (transfer.row->destination != trace.passes[i].device) continue;
    transfer.taker = places[i];
    const std::size_t maker = index.producer(trace.passes[i]);
    const bool sent = maker != no_row && trace.passes[maker].device == transfer.row->source;
    transfer.maker = sent ? places[maker] : no_place;
  }
  Transfers devices(trace.devices.size());
  for (const PlacedTransfer& transfer : all)
    devices.at(transfer.row->destination).push_back(transfer);
  // Those that no pass takes come first. Rows have no order of their own, so all columns count.
  const auto order = [](const PlacedTransfer& transfer) {
    const trace::TransferRow& row = *transfer.row;
    return std::tuple(transfer.taker, row.end, row.source, row.stage, row.microbatch, row.bytes);
  };
  for (auto& transfers : devices)
    std::sort(
        transfers.begin(), transfers.end(),
        [&](const PlacedTransfer& a, const PlacedTransfer& b) { return order(a) < order(b); });
  return devices;
}

void put_transfers(std::string& bytes, const trace::Trace& trace, const Transfers& transfers,
                   const Ticks& ticks) {
  using One = PlacedTransfer;
  for (const auto& received : transfers) put(bytes, received.size());
  put_chain(bytes, transfers, [](const One& one) { return one.row->kind; });
  put_chain(bytes, transfers, [](const One& one) { return one.taker + 1; });
  put_differences(bytes, transfers, [](const One& one) { return one.row->source; });
  put_differences(bytes, transfers, [](const One& one) { return one.maker + 1; });
  put_differences(bytes, transfers, [](const One& one) { return one.row->bytes; });
  Transfers untaken(transfers.size());
  for (std::size_t device = 0; device < transfers.size(); ++device)
    for (const One& one : transfers[device])
      if (one.taker == no_place) untaken[device].push_back(one);
  put_differences(bytes, untaken, [](const One& one) { return one.row->stage; });
  put_differences(bytes, untaken, [](const One& one) { return one.row->microbatch; });
  put_times(bytes, trace, transfers, ticks);
}

}  // namespace pipewright::analysis
