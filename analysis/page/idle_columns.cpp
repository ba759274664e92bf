#include "analysis/page/idle_columns.hpp"

#include <algorithm>

#include "analysis/timeline/boxes.hpp"

namespace pipewright::analysis {
namespace {

using Passes = std::vector<const trace::PassRow*>;  // of a device

struct PlacedIdle {
  const Idle* row;
  const trace::PassRow* before = nullptr;  // the pass, likewise
  const trace::PassRow* next = nullptr;
  const trace::TransferRow* input = nullptr;  // of next
  std::int64_t place = 0;                     // of next, from 1 on
};

// Inputs of a device's passes, by place.
std::vector<const trace::TransferRow*> inputs(std::size_t passes,
                                              const std::vector<PlacedTransfer>& transfers) {
  std::vector<const trace::TransferRow*> by_place(passes);
  for (const PlacedTransfer& transfer : transfers)
    if (transfer.taker != no_place)
      by_place[static_cast<std::size_t>(transfer.taker)] = transfer.row;
  return by_place;
}

std::vector<std::vector<PlacedIdle>> placed(const trace::Trace& trace, std::span<const Idle> idle,
                                            const std::vector<std::vector<PlacedTransfer>>& moved) {
  std::vector<std::vector<PlacedIdle>> devices(trace.devices.size());
  for (const Idle& row : idle) devices.at(row.device).push_back({&row});
  const std::vector<Passes> all = passes_by_device(trace);
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const Passes& passes = all[device];
    const auto input = inputs(passes.size(), moved[device]);
    std::size_t next = 0;
    for (PlacedIdle& one : devices[device]) {
      while (next < passes.size() && passes[next]->start <= one.row->start) ++next;
      if (next > 0) one.before = passes[next - 1];
      if (next == passes.size()) continue;
      one.next = passes[next];
      one.input = input[next];
      one.place = static_cast<std::int64_t>(next) + 1;
    }
  }
  return devices;
}

double foretold_end(const PlacedIdle& idle) {
  switch (idle.row->cause) {
    case IdleCause::input:
      if (idle.input != nullptr) return idle.input->posted;
      break;
    case IdleCause::rendezvous:
      if (idle.input != nullptr) return idle.input->start;
      break;
    case IdleCause::transfer:
      if (idle.input != nullptr) return idle.input->end;
      break;
    case IdleCause::blocked_send:
      if (idle.before != nullptr) return idle.before->released;
      break;
    default:
      break;
  }
  return idle.next != nullptr ? idle.next->start : idle.row->start;
}

}  // namespace

void put_idle(std::string& bytes, const trace::Trace& trace, std::span<const Idle> idle,
              const std::vector<std::vector<PlacedTransfer>>& transfers, const Ticks& ticks) {
  const auto devices = placed(trace, idle, transfers);
  for (const auto& pieces : devices) put(bytes, pieces.size());
  const auto column = [&](auto&& put_one) {
    for (const auto& pieces : devices)
      for (const PlacedIdle& piece : pieces) put_one(piece);
  };
  column(
      [&](const PlacedIdle& piece) { put(bytes, static_cast<std::uint64_t>(piece.row->cause)); });
  for (const auto& pieces : devices) {
    std::int64_t before = 0;
    for (const PlacedIdle& piece : pieces) {
      put_signed(bytes, piece.place - before);
      before = piece.place;
    }
  }
  for (const auto& pieces : devices) {
    std::int64_t before = 0;
    for (const PlacedIdle& piece : pieces) {
      const std::int64_t computed = piece.before != nullptr ? ticks(piece.before->end) : 0;
      put_signed(bytes, ticks(piece.row->start) - std::max(before, computed));
      before = ticks(piece.row->end);
    }
  }
  column([&](const PlacedIdle& piece) {
    put_signed(bytes, ticks(piece.row->end) - ticks(foretold_end(piece)));
  });
  column([&](const PlacedIdle& piece) {
    const std::int64_t next = piece.next != nullptr ? piece.next->stage : 0;
    put_signed(bytes, std::int64_t{piece.row->stage} - next);
  });
  column([&](const PlacedIdle& piece) {
    const std::int64_t next = piece.next != nullptr ? piece.next->microbatch : 0;
    put_signed(bytes, std::int64_t{piece.row->microbatch} - next);
  });
}

void put_critical_path(std::string& bytes, std::span<const CriticalPiece> path,
                       const std::vector<std::int64_t>& places, const Ticks& ticks) {
  put(bytes, path.size());
  for (const CriticalPiece& piece : path) put(bytes, static_cast<std::uint64_t>(piece.part));
  const auto chain = [&](auto&& value) {
    std::int64_t before = 0;
    for (const CriticalPiece& piece : path) {
      const std::int64_t now = value(piece);
      put_signed(bytes, now - before);
      before = now;
    }
  };
  chain([](const CriticalPiece& piece) { return std::int64_t{piece.device}; });
  chain([&](const CriticalPiece& piece) {
    return piece.pass == no_pass ? 0 : places[piece.pass] + 1;
  });
  chain([](const CriticalPiece& piece) { return std::int64_t{piece.stage}; });
  chain([](const CriticalPiece& piece) { return std::int64_t{piece.microbatch}; });
  chain([&](const CriticalPiece& piece) { return ticks(piece.end); });
  for (const CriticalPiece& piece : path)
    put(bytes, piece.link == trace::no_link ? 0 : std::uint64_t{piece.link} + 1);
}

}  // namespace pipewright::analysis
