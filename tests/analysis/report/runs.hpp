#pragma once

#include "analysis/trace/rows.hpp"

namespace pipewright::test {

// 1F1B with two devices and two microbatches, F = 1 s, B = 2 s, and transfers of 0.5 s:
//
//   device 0  F0 F1 . . .  B0 B0 .  B1 B1      0-1 1-2 5-7 8-10
//   device 1   .  F0 B0 B0 F1 B1 B1            1.5-2.5 2.5-4.5 4.5-5.5 5.5-7.5
inline trace::Trace two_device_run() {
  using trace::MemoryCategory;
  using trace::PassKind;
  constexpr PassKind f = PassKind::forward;
  constexpr PassKind b = PassKind::backward;
  constexpr std::uint64_t gib = 1ULL << 30;
  trace::Trace trace;
  trace.run = {
      "1f1b", "timing", "eager", "ideal, 500 ms a hop", "", "", "pipewright 0.1.0", 2, 1, 2,
      1,      3,        3000};
  trace.devices = {{0, "left", 8 * gib}, {1, "right", 0}};
  trace.stages = {{0, 0, 0}, {1, 0, 1}};
  trace.passes = {
      {0, 0, 0, 0, 0, f, 0, 0, 0, 1, 1},           {0, 0, 0, 1, 0, f, 0, 0, 1, 2, 2},
      {1, 1, 0, 0, 0, f, 1, 1.5, 1.5, 2.5, 2.5},   {1, 1, 0, 0, 0, b, 2.5, 2.5, 2.5, 4.5, 4.5},
      {1, 1, 0, 1, 0, f, 2, 2.5, 4.5, 5.5, 5.5},   {0, 0, 0, 0, 0, b, 4.5, 5, 5, 7, 7},
      {1, 1, 0, 1, 0, b, 5.5, 5.5, 5.5, 7.5, 7.5}, {0, 0, 0, 1, 0, b, 7.5, 8, 8, 10, 10}};
  trace.memory = {{0, MemoryCategory::weights, 0, 4 * gib},
                  {1, MemoryCategory::weights, 0, 2 * gib},
                  {0, MemoryCategory::activations, 1, 3 * gib},
                  {0, MemoryCategory::activations, 10, 0}};
  return trace;
}

}  // namespace pipewright::test
