#pragma once

#include <vector>

#include "analysis/page/columns.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The tables of run_schema.hpp, in their order, for one run.
std::vector<ColumnTable> run_tables(const trace::Trace& trace, double ticks_per_s);

}  // namespace pipewright::analysis
