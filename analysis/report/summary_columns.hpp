#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/report/report_table.hpp"
#include "analysis/report/summary.hpp"

// The fields of a summary, each with its key in files, its heading in tables and its quantity. The
// order is that of JSON.
namespace pipewright::analysis {

// Of runs that stand in one table.
ReportColumns<Summary> run_columns(std::span<const Summary> runs);
ReportColumns<JobInfo> job_columns();
// The job that such an object tells of; of null nothing.
std::optional<JobInfo> job_of(const Json& json);
// Of the devices of a run of this time, which sets the scale of theirs.
ReportColumns<DeviceSummary> device_columns(double makespan_s);
// Where the time of its devices goes.
ReportColumns<DeviceSummary> time_columns(double makespan_s);

ReportColumns<PassCollectives> pass_collective_columns();

// The peak microbatches in flight on the devices of a run: "8", "5.5..7".
std::string in_flight_text(const Summary& run);

}  // namespace pipewright::analysis
