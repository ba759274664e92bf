#pragma once

#include <filesystem>
#include <span>

#include "analysis/summary.hpp"
#include "analysis/timeline/drawing.hpp"

namespace pipewright::analysis {

// What memory buys: throughput against the memory peak of the fullest device, a dot a run, and a
// line through those that no other run beats in both. Runs that do not fit are marked and stand
// behind. Where nothing is known of memory or samples, microbatches in flight and microbatches/s
// stand for them. Like draw_timeline in all else.
void draw_tradeoff(std::span<const Summary> runs, const std::filesystem::path& file,
                   PictureKind kind);

// The memory and throughput of runs, and which of them are on the line, by memory.
struct TradeoffPoint {
  double memory = 0;
  double throughput = 0;
  bool fits = true;
};
std::vector<std::size_t> best_of(std::span<const TradeoffPoint> points);

}  // namespace pipewright::analysis
