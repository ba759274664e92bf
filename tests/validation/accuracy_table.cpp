#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

struct Errors {
  std::vector<double> each;

  double mean() const {
    double sum = 0;
    for (const double error : each) sum += std::abs(error);
    return sum / static_cast<double>(each.size());
  }
  double bias() const {
    return std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(each.size());
  }
  // The absolute value that so large a part of them does not exceed.
  double quantile(double part) const {
    std::vector<double> sizes;
    for (const double error : each) sizes.push_back(std::abs(error));
    std::ranges::sort(sizes);
    const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sizes.size())));
    return sizes[std::max<std::size_t>(rank, 1) - 1];
  }
  double largest() const { return quantile(1); }
  std::string text() const {
    return fmt::format("{} rows, mean {:.2f} %, bias {:+.2f} %, p90 {:.2f} %, largest {:.2f} %",
                       each.size(), mean(), bias(), quantile(0.9), largest());
  }
};

std::string verdict(const char* what, double value, double bar) {
  if (std::isinf(bar)) return "";
  return fmt::format("; {} {:.2f} of {} allowed: {}", what, value, bar,
                     value <= bar ? "met" : "MISSED");
}

}  // namespace

double makespan(const Run& run) { return run.summary.makespan_s; }

double peak_gib(const Run& run) {
  std::uint64_t peak = 0;
  for (const analysis::DeviceSummary& device : run.summary.devices)
    peak = std::max(peak, device.peak_memory_bytes);
  return static_cast<double>(peak) / (1U << 30U);
}

bool print(const Table& table) {
  fmt::print("{}\n", table.title);
  if (!table.skipped.empty()) {
    fmt::print("  skipped: {}\n\n", table.skipped);
    return true;
  }
  fmt::print("  {:<52} {:>10} {:>10} {:>8}\n", "", "measured", "predicted", "error");
  Errors all;
  Errors held_out;
  for (const Row& row : table.rows) {
    fmt::print("  {:<52} {:>10.4g} {:>10.4g} {:>+7.1f}% {}\n", row.name + ", " + table.unit,
               row.measured, row.predicted, row.error(), row.is_fitted ? "*" : "");
    all.each.push_back(row.error());
    if (!row.is_fitted) held_out.each.push_back(row.error());
  }
  fmt::print("  all: {}\n", all.text());
  if (!held_out.each.empty() && held_out.each.size() < all.each.size())
    fmt::print("  not fitted: {}\n", held_out.text());
  if (!table.left_out.empty()) fmt::print("  left out: {}\n", table.left_out);
  const std::string verdicts = verdict("mean", all.mean(), table.bars.mean) +
                               verdict("bias", std::abs(all.bias()), table.bars.bias) +
                               verdict("largest", all.largest(), table.bars.each);
  fmt::print("  {}\n\n", verdicts.empty() ? "for information: no bar" : verdicts.substr(2));
  return all.mean() <= table.bars.mean && std::abs(all.bias()) <= table.bars.bias &&
         all.largest() <= table.bars.each;
}

}  // namespace pipewright::accuracy
