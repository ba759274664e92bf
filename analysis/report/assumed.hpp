#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analysis/trace/rows.hpp"

// Figures that rest on numbers that no source has carry the mark ~ in tables (see marked() of
// report_table.hpp), and a line below says which numbers these are.
namespace pipewright::analysis {

inline constexpr std::string_view assumed_mark = "~";

// The key of a GPU's file on which no time rests, only what a device has.
inline constexpr std::string_view free_memory_key = "free_memory";

bool times_rest_on(const trace::Assumed& assumed);
bool capacity_rests_on(const trace::Assumed& assumed);

// "~" or nothing, before a time or what is counted from it.
std::string_view time_mark(const trace::Assumed& assumed);

// Of JSON: the list `assumed` of keys, and `assumed_gpu`, whose file has them.
void add_assumed(nlohmann::ordered_json& object, const trace::Assumed& assumed);

// Pages fill this in themselves, in elements.js.
inline constexpr const char* assumed_words = "~ rests on numbers of {} that no source has: {}";

// "~ rests on numbers of b200 that no source has: launch, clock", a line for each GPU's file, with
// all keys of it that are in any of these; nothing where nothing is assumed.
std::string assumed_lines(const std::vector<trace::Assumed>& all);

}  // namespace pipewright::analysis
