#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedules/program.hpp"
#include "schedules/routes.hpp"

namespace pipewright::schedules {

// A schedule, or parameters of one, that a user asked for and cannot have.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Who runs what in which order: data, made by a family's generator or read from a file.
struct Schedule {
  std::string name;
  std::uint32_t devices = 0;
  std::uint32_t chunks = 1;        // stages per device
  std::uint32_t microbatches = 0;  // of one iteration
  std::uint32_t iterations = 1;
  std::uint32_t weight_versions = 1;  // copies of the weights that a device keeps
  Routes routes;
  std::vector<Program> programs;  // one per device

  std::uint32_t stages() const { return routes.stages(); }
  std::uint32_t total_microbatches() const { return microbatches * iterations; }
  std::uint64_t size() const;  // passes over all devices
};

// The most microbatches in flight on each device at any time, in microbatches of a whole device
// (a chunk counts 1/chunks), from the start of F to the end of W or B. Depends on the order alone.
std::vector<double> peak_in_flight(const Schedule& schedule);

}  // namespace pipewright::schedules
