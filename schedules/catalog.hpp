#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// What a user may choose about a schedule. Optional ones are for the families that take them.
struct Parameters {
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;  // of one iteration
  std::uint32_t iterations = 1;
  std::optional<std::uint32_t> chunks;      // stages per device
  std::optional<std::uint32_t> group_size;  // microbatches that pass a chunk before the next chunk
};

struct Entry {
  std::string_view name;
  std::string_view help;  // one line
  bool takes_chunks = false;
  bool takes_group_size = false;
  Schedule (*make)(const Parameters& parameters) = nullptr;
};

// Every schedule there is. Adding one: its file in families/, its line in catalog.cpp.
std::span<const Entry> catalog();

// Throws Error if the name is unknown or the family cannot do these sizes.
Schedule make_schedule(std::string_view name, const Parameters& parameters);

}  // namespace pipewright::schedules
