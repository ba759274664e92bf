#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/trace/rows.hpp"

// Evidence for a predicted time: the error of predictions in measured runs of the same kind, and
// numbers of GPU files that have no published source.
namespace pipewright::analysis {

// Stands before a figure of a kernel that depends on assumed numbers (see marked() of
// report_table.hpp).
inline constexpr std::string_view assumed_mark = "~";

// The only key of a GPU's file that affects memory capacities but no times.
inline constexpr std::string_view free_memory_key = "free_memory";

// "expected error -4 .. +9 % (90 % of 63 measured runs: h100-sxm, bf16, dense, megatron-core)".
// Empty without measured runs.
std::string expected_error_text(const trace::ExpectedError& error);
// A line for each different expected error of the runs.
std::string expected_error_lines(const std::vector<trace::Evidence>& runs);

// Format of the line that lists the assumed keys of a GPU's file.
inline constexpr const char* assumed_words = "values of {} that are assumed, not sourced: {}";
// A line for each GPU's file with the assumed keys of all runs; empty if nothing is assumed:
// "values of b200 that are assumed, not sourced: launch, clock".
std::string assumed_lines(const std::vector<trace::Evidence>& runs);

// expected_error_lines() and assumed_lines().
std::string evidence_lines(const std::vector<trace::Evidence>& runs);

}  // namespace pipewright::analysis
