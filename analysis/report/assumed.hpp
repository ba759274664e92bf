#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analysis/trace/rows.hpp"

// Numbers of a GPU's file that have no published source are assumed. Tables mark figures that
// depend on them with a ~ (see marked() of report_table.hpp), and a line below names the numbers.
namespace pipewright::analysis {

inline constexpr std::string_view assumed_mark = "~";

// The only key of a GPU's file that affects memory capacities but no times.
inline constexpr std::string_view free_memory_key = "free_memory";

bool times_rest_on(const trace::Assumed& assumed);
bool capacity_rests_on(const trace::Assumed& assumed);

// Returns "~" if times depend on assumed values of the GPU's file, else nothing. The mark stands
// before a time or a figure derived from one.
std::string_view time_mark(const trace::Assumed& assumed);

// Adds two members to a JSON object: `assumed`, the list of assumed numbers, and `assumed_gpu`, the
// name of the GPU's file.
void add_assumed(nlohmann::ordered_json& object, const trace::Assumed& assumed);

// Format of the line that lists the assumed keys of a GPU's file. The pages fill it in with
// JavaScript, in elements.js.
inline constexpr const char* assumed_words =
    "~ depends on values of {} that are assumed, not sourced: {}";

// A line for each GPU's file with the assumed keys of all runs; empty if nothing is assumed:
// "~ depends on values of b200 that are assumed, not sourced: launch, clock".
std::string assumed_lines(const std::vector<trace::Assumed>& runs);

// The text of assumed_lines() without the mark ~, for a screen without marks: "b200: launch and
// clock are assumed, not sourced; l40s: clock is assumed, not sourced".
std::string assumed_note(const std::vector<trace::Assumed>& runs);

}  // namespace pipewright::analysis
