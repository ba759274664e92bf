#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "analysis/web/columns.hpp"

namespace pipewright::analysis {

enum class PageTable : std::uint8_t {
  passes,
  transfers,
  collectives,
  steps,
  stages,
  paths,
  idle,
  critical,
  memory,
  link_use
};

// Schema of the tables that a page holds for each run. Tables and columns have the names of the
// trace; idle times and the critical path are added. Times are in ticks. Passes and transfers are
// referred to by their row numbers in these tables, which are grouped by device; -1 stands for
// none.
std::span<const TableSchema> page_tables();
inline const TableSchema& schema_of(PageTable table) {
  return page_tables()[static_cast<std::size_t>(table)];
}

// Converts a trace to the tables of a page, in the order of page_tables(). The run begins at
// `start_s` on the time axis.
std::vector<ColumnTable> run_tables(const trace::Trace& trace, double ticks_per_s,
                                    double start_s = 0);

}  // namespace pipewright::analysis
