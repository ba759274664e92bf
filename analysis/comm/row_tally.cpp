#include <fmt/format.h>

#include "analysis/comm/log_table.hpp"

namespace pipewright::analysis {

void RowTally::add(const std::string& what, int line) {
  Rows& rows = rows_[what];
  if (rows.count++ == 0) rows.first = line;
}

void RowTally::append_to(std::vector<LogRemark>& remarks, const std::string& file) const {
  for (const auto& [what, rows] : rows_) {
    const std::string which =
        rows.count == 1 ? "this row" : fmt::format("{} rows, this one first,", rows.count);
    remarks.push_back({file, rows.first, fmt::format("{} {}", which, what)});
  }
}

}  // namespace pipewright::analysis
