#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::schedules {

// Formats a number with its noun: "1 rank", "2 ranks".
inline std::string counted(std::uint64_t count, std::string_view singular,
                           std::string_view plural) {
  return fmt::format("{} {}", count, count == 1 ? singular : plural);
}

inline std::string counted_microbatches(std::uint64_t count) {
  return counted(count, "microbatch", "microbatches");
}

// Formats numbers of microbatches on several devices, rounded to hundredths: "2, 1.33
// microbatches"; or on one: "1 microbatch".
inline std::string counted_microbatches(std::vector<double> counts) {
  for (double& count : counts) count = std::round(count * 100) / 100;
  const bool is_singular = counts.size() == 1 && counts.front() == 1;
  return fmt::format("{} {}", fmt::join(counts, ", "), is_singular ? "microbatch" : "microbatches");
}

}  // namespace pipewright::schedules
