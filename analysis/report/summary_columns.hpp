#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/report/report_table.hpp"
#include "analysis/report/summary.hpp"

// Columns of reports on summaries: key in files, heading in tables, quantity. Their order is that
// of the keys in JSON.
namespace pipewright::analysis {

// Columns of a table of runs. Headings depend on what the runs have in common.
ReportColumns<Summary> run_columns(std::span<const Summary> runs);
ReportColumns<JobInfo> job_columns();
// Reads the job that job_columns() wrote; null gives nothing.
std::optional<JobInfo> job_of(const Json& json);
// Columns of the devices of a run. The makespan sets the scale of all times.
ReportColumns<DeviceSummary> device_columns(double makespan_s);
// Columns of the parts of each device's time.
ReportColumns<DeviceSummary> time_columns(double makespan_s);

ReportColumns<PassCollectives> pass_collective_columns();

// Range over devices of the peak number of microbatches in flight: "8", "5.5..7".
std::string in_flight_text(const Summary& run);

}  // namespace pipewright::analysis
