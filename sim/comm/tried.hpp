#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/comparison.hpp"
#include "analysis/commlogs/reports/fit_report.hpp"
#include "sim/cluster/cluster.hpp"

// Where predictions by a platform file were tried, and what came of it: see cluster::Record.
namespace pipewright::comm {

// How many nodes a row's ranks are on: as the log says, or as they are placed without.
std::uint32_t nodes_of(const cluster::Cluster& cluster, const analysis::Measurement& row);

// One record for each operation, of its rows on one node and of those on several: errors on NVLink
// say nothing of those on a network.
std::vector<cluster::Record> records_of(const cluster::Cluster& cluster,
                                        std::span<const analysis::ComparedRow> rows, bool held_out,
                                        const std::string& source);

// Of a fit: the rows that it was made to, and those that fits to others were tried on.
std::vector<cluster::Record> records_of(const cluster::Cluster& cluster,
                                        const analysis::FitReport& report);

// The file's records and further ones, which stand in place of those of the same operation, nodes,
// kind and source.
std::vector<cluster::Record> merged(std::span<const cluster::Record> of_file,
                                    std::span<const cluster::Record> further);

// "a.log, b.log", or "a.log and 5 more": files without their folders.
std::string source_of(std::span<const analysis::ComparedRow> rows);

// The records of an operation on so many nodes, those held out before those fitted: "tried on
// all-reduce, 2 to 8 ranks, 512 B to 8 GiB: median 4.1 %, 90th percentile 9.8 % (held out)". Empty
// without any.
std::string tried_text(std::span<const cluster::Record> records, std::string_view operation,
                       std::uint32_t nodes);

}  // namespace pipewright::comm
