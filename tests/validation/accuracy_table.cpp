#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

struct Errors {
  double sum = 0;
  double largest = 0;
  int count = 0;

  void add(double error) {
    sum += std::abs(error);
    largest = std::max(largest, std::abs(error));
    ++count;
  }
  std::string text() const {
    return fmt::format("{} rows, mean {:.2f} %, largest {:.2f} %", count, sum / count, largest);
  }
};

std::string verdict(const char* what, double value, double bar) {
  if (std::isinf(bar)) return "";
  return fmt::format("; {} {:.2f} of {} allowed: {}", what, value, bar,
                     value <= bar ? "met" : "MISSED");
}

}  // namespace

double makespan(const Run& run) { return run.summary.makespan_s; }

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
    all.add(row.error());
    if (!row.is_fitted) held_out.add(row.error());
  }
  const double mean = all.sum / all.count;
  fmt::print("  all: {}\n", all.text());
  if (held_out.count > 0 && held_out.count < all.count)
    fmt::print("  not fitted: {}\n", held_out.text());
  const std::string verdicts =
      verdict("mean", mean, table.bars.mean) + verdict("largest", all.largest, table.bars.each);
  fmt::print("  {}\n\n", verdicts.empty() ? "for information: no bar" : verdicts.substr(2));
  return mean <= table.bars.mean && all.largest <= table.bars.each;
}

}  // namespace pipewright::accuracy
