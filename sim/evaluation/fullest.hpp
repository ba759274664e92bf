#pragma once

#include <string>

#include "sim/execution/ledger.hpp"

namespace pipewright::evaluation {

// The device that is fullest for what it has.
struct Fullest {
  std::uint32_t device = 0;
  execution::PeakMemory peak;
  std::uint64_t capacity = 0;  // bytes; 0: unknown
  std::string host;            // of the GPU that has so little, where it is not the device's first

  bool fits() const { return capacity == 0 || peak.bytes <= capacity; }
};
// `capacity` by device, in bytes; 0: unknown.
Fullest fullest(const execution::Job& job, const std::vector<std::uint64_t>& capacity);

// The host of the device's GPU with the least memory, "" where it is the one that outputs name.
std::string smallest_host(const execution::Job& job, std::uint32_t device);

// "device 3: 91.2 GiB of 80 GiB: activations 50.1 GiB, ..., 11.2 GiB too much"
std::string describe(const Fullest& fullest);

}  // namespace pipewright::evaluation
