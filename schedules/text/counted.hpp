#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::schedules {

// "1 rank", "2 ranks"
inline std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

inline std::string counted_microbatches(std::uint64_t count) {
  return counted(count, "microbatch", "microbatches");
}

// "2, 1 microbatches" of several devices, "1 microbatch" of one
inline std::string counted_microbatches(const std::vector<double>& counts) {
  const bool one = counts.size() == 1 && counts.front() == 1;
  return fmt::format("{} {}", fmt::join(counts, ", "), one ? "microbatch" : "microbatches");
}

}  // namespace pipewright::schedules
