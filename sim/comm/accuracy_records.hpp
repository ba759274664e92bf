#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/comparison.hpp"
#include "analysis/commlogs/reports/fit_report.hpp"
#include "sim/cluster/cluster.hpp"

// Creates, merges and formats the accuracy records of a platform file (cluster::Record).
namespace pipewright::comm {

// Number of nodes that a measured row's ranks occupied: from the log, or else by the default
// placement.
std::uint32_t node_count(const cluster::Cluster& cluster, const analysis::Measurement& row);

// Summarizes errors as one record per operation for rows on one node and one for rows on several
// nodes, because errors on NVLink and errors on a network are independent.
std::vector<cluster::Record> records_of(const cluster::Cluster& cluster,
                                        std::span<const analysis::ComparedRow> rows, bool held_out,
                                        const std::string& source);

// Records of a fit: one set from the rows that it was fitted to, and one from the held-out rows of
// its trials.
std::vector<cluster::Record> records_of(const cluster::Cluster& cluster,
                                        const analysis::FitReport& report);

// Merges records: a new record replaces the one of the file with the same operation, source, kind
// of nodes (one or several) and kind of rows (held out or fitted).
std::vector<cluster::Record> merge_records(std::span<const cluster::Record> file_records,
                                           std::span<const cluster::Record> new_records);

// Names of the measured files without directories: "a.log, b.log", or "a.log and 5 more".
std::string source_text(std::span<const analysis::ComparedRow> rows);

// Describes the accuracy of an operation on this number of nodes, from held-out records if there
// are any, otherwise fitted ones: "tested on all-reduce, 2 to 8 ranks, 512 B to 8 GiB: median 4.1
// %, 90th percentile 9.8 % (held out)". Empty without records.
std::string accuracy_text(std::span<const cluster::Record> records, std::string_view operation,
                          std::uint32_t nodes);

}  // namespace pipewright::comm
