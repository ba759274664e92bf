#pragma once

#include <string>
#include <vector>

#include "schedules/justify.hpp"
#include "sim/cli/schedule/memory_limit.hpp"
#include "sim/cli/schedule/uncontended.hpp"

namespace pipewright::cli {

// What a run's fullest device holds, in the limit's unit.
WrittenLimit held_by(const analysis::Summary& run, const WrittenLimit& unit);

// The longest time from a device's first start to its last end, in seconds.
double span_of(const analysis::Summary& run);

// Schedules side by side, the best by the objective first, and how much worse the others are.
class CatalogTable {
 public:
  explicit CatalogTable(schedules::Objective objective) : objective_(objective) {}

  void add(std::string name, analysis::Summary run);
  std::string text() const;

 private:
  struct Row {
    std::string name;
    analysis::Summary run;
  };
  double value(const analysis::Summary& run) const;

  schedules::Objective objective_;
  std::vector<Row> rows_;  // sorted
};

}  // namespace pipewright::cli
