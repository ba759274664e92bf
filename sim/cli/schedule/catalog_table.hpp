#pragma once

#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/summary.hpp"
#include "schedules/justify.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::cli {

std::string sizes(const config::Scenario& scenario);  // "8 devices x 32 microbatches"

// Formats ratios as percentages with two decimals, and 0 as 0.00.
analysis::Quantity two_decimals();

// Table of schedules, ordered by the objective, with their distance from the best.
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
