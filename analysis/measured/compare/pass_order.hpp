#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/measured/compare/pass_times.hpp"

namespace pipewright::analysis {

// Passes of each device in the order in which the device runs them, without times.
using PassOrder = std::vector<std::vector<PassKey>>;

// The first position at which two orders of passes differ on one device.
struct OrderDifference {
  std::uint32_t device = 0;
  std::size_t position = 0;      // number of equal passes before the difference
  std::optional<PassKey> first;  // empty: the order has ended
  std::optional<PassKey> second;
  std::uint64_t displaced = 0;  // passes of the device with another position, or missing
};

struct OrderComparison {
  std::uint64_t passes = 0;  // number of passes in the first order
  std::uint64_t only_first = 0;
  std::uint64_t only_second = 0;
  std::uint64_t on_other_device = 0;
  std::vector<OrderDifference> differences;  // one for each device that differs

  bool is_same() const {
    return differences.empty() && only_first + only_second + on_other_device == 0;
  }
};

// Returns the order of the passes by their starts. The two passes of a fused pair stay in the order
// in which `passes` has them.
PassOrder order_of(std::vector<TimedPass> passes, std::size_t devices);
OrderComparison compare_orders(const PassOrder& first, const PassOrder& second);

// Counts that conditions may use: displaced, only_in_baseline, only_in_other, on_another_device.
Metrics metrics_of(const OrderComparison& comparison);

std::string console_text(const OrderComparison& comparison, const std::string& first,
                         const std::string& second);
std::string json_text(const OrderComparison& comparison, const std::string& first,
                      const std::string& second);

}  // namespace pipewright::analysis
