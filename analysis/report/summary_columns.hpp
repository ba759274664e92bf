#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/report/report_table.hpp"
#include "analysis/report/summary.hpp"

// Columns of reports on runs: each has a key for files, a heading for tables, and a quantity. JSON
// has the keys in the order of the columns.
namespace pipewright::analysis {

// Columns of a table with a row for each run. The headings depend on properties of all runs.
ReportColumns<Summary> run_columns(std::span<const Summary> runs);
ReportColumns<JobInfo> job_columns();
// Converts the JSON that job_columns() wrote back to a job; returns nothing for null.
std::optional<JobInfo> job_of(const Json& json);
// Columns of a table with a row for each device. The makespan sets the scale of all times.
ReportColumns<DeviceSummary> device_columns(double makespan_s);
// Columns of a table with a row for each device that shows the parts of its time.
ReportColumns<DeviceSummary> time_columns(double makespan_s);

ReportColumns<PassCollectives> pass_collective_columns();

// Returns the range over devices of the largest number of microbatches in flight: "8", "5.5..7".
std::string in_flight_text(const Summary& run);

}  // namespace pipewright::analysis
