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

// The tables that a page keeps of each run, under the names that the trace has for them and their
// columns; and idle times and the critical path, which are not in a trace. Times are whole numbers
// of the page's unit, and passes and transfers are referred to by their rows in these tables, where
// they come device by device; -1 is none.
std::span<const TableSchema> page_tables();
inline const TableSchema& schema_of(PageTable table) {
  return page_tables()[static_cast<std::size_t>(table)];
}

// The tables of run_schema.hpp, in their order, for one run, which begins at `start_s` of the page.
std::vector<ColumnTable> run_tables(const trace::Trace& trace, double ticks_per_s,
                                    double start_s = 0);

}  // namespace pipewright::analysis
