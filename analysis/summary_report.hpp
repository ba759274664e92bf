#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "analysis/report_table.hpp"
#include "analysis/summary.hpp"
#include "analysis/text_table.hpp"

// Summaries of runs as text, JSON and CSV. The words are those of metrics.md.
namespace pipewright::analysis {

// Runs side by side, a row each, for a terminal of 100 columns; a line above says what they have in
// common, a line below names each run whose memory does not fit. A single run of up to 16 devices
// gets a second table with a row a device.
std::string console_table(std::span<const Summary> runs);

// The table that it has of the runs; and, in lines, what they have in common.
TextTable summary_table(std::span<const Summary> runs);
std::string common_line(std::span<const Summary> runs);

// What tables call each of some runs: its schedule, and what else not all have.
std::vector<std::string> names_of(std::span<const Summary> runs);

// A figure beside those of the run itself.
struct JsonField {
  std::string key;
  std::variant<double, bool, std::string> value;
};
using JsonFields = std::vector<JsonField>;

// One run as an object, several as an array of them; ends with a newline. Keys carry their units
// and mean what metrics.md says; numbers are written so that reading them gives the same double.
// `more` is empty, or has fields for each run.
std::string json_summary(std::span<const Summary> runs, std::span<const JsonFields> more = {});
// One run as such an object. What its rows do not say, its job and whose memory is small, is taken
// from such an object by add_from_json.
Json json_of(const Summary& run);
void add_from_json(const Json& json, Summary& run);
// An array, however many they are.
std::string json_list(std::span<const Summary> runs, std::span<const JsonFields> more = {});

// A line a device of each run, below a line of names; names and quoting as in RFC 4180. What is
// unknown is an empty field.
std::string csv_summary(std::span<const Summary> runs);

// "1f1b does not fit: device 0 (node-0-gpu-0) peaks at 82.1 GiB at 1.63 s, 2.1 GiB over its
// 80.0 GiB, from 0.49 s on: weights 12.1 GiB, ..."; empty if the run fits.
std::string over_capacity_text(const Summary& run, const std::string& name);

// "2 million tokens an iteration, 3.1 % of the computed tokens are padding; spread evenly over
// microbatches and ranks, the same work would take 1.2 % less time", after the name of the run if
// it has one; empty if all microbatches are alike.
std::string uneven_text(const Summary& run, std::string_view name);

// What each device holds at its peak, a column for each component that any of them has.
std::string component_table(const Summary& run);

// The same of the fullest device, in a line.
std::string peak_line(const Summary& run);

}  // namespace pipewright::analysis
