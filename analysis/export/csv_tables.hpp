#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// The tables of a trace (format.md) in their order there, and `run`, which has its attributes.
std::vector<std::string> csv_table_names();

// Writes tables as CSV: a line of column names, which end in their units, then a line a row. Asks
// `stream_of` for each table's stream when it begins; nullptr leaves that table out.
std::unique_ptr<trace::Sink> csv_export(
    const std::function<std::ostream*(const std::string& table)>& stream_of);

}  // namespace pipewright::analysis
