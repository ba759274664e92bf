#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/measured/compare/pass_times.hpp"

namespace pipewright::analysis {

// The passes of each device in their order, where no times are known.
using PassOrder = std::vector<std::vector<PassKey>>;

// Where two orders of one device part.
struct OrderDifference {
  std::uint32_t device = 0;
  std::size_t place = 0;         // passes before it are the same
  std::optional<PassKey> first;  // none: it has ended
  std::optional<PassKey> second;
  std::uint64_t displaced = 0;  // passes of the device that are at another place, or not there
};

struct OrderComparison {
  std::uint64_t passes = 0;  // of the first
  std::uint64_t only_first = 0;
  std::uint64_t only_second = 0;
  std::uint64_t elsewhere = 0;               // on another device
  std::vector<OrderDifference> differences;  // a device each, those that differ

  bool same() const { return differences.empty() && only_first + only_second + elsewhere == 0; }
};

// By start; of a fused pair in the order of the rows.
PassOrder order_of(std::vector<TimedPass> passes, std::size_t devices);
OrderComparison compare_orders(const PassOrder& first, const PassOrder& second);

// For conditions: displaced, only_in_baseline, only_in_other, on_another_device.
Metrics metrics_of(const OrderComparison& comparison);

std::string console_text(const OrderComparison& comparison, const std::string& first,
                         const std::string& second);
std::string json_text(const OrderComparison& comparison, const std::string& first,
                      const std::string& second);

}  // namespace pipewright::analysis
