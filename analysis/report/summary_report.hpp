#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/report/text_table.hpp"

// Summaries of runs as text, JSON and CSV, in the terms of metrics.md.
namespace pipewright::analysis {

// Prints all tables for a terminal of 100 columns. The lines above the first table describe what
// the runs have in common; the lines below it name each run that does not fit into memory. A single
// run of up to 16 devices also gets tables with a row for each device.
std::string console_table(std::span<const Summary> runs);

// The first table of console_table(), with a row for each run, and the lines above it.
TextTable summary_table(std::span<const Summary> runs);
std::string common_line(std::span<const Summary> runs);

// Returns a name for each run in tables: its schedule, and the settings that distinguish it from
// the other runs.
std::vector<std::string> names_of(std::span<const Summary> runs);

// A field that a caller adds to the JSON of a run.
struct JsonField {
  std::string key;
  std::variant<double, bool, std::string> value;
};
using JsonFields = std::vector<JsonField>;

// Writes one run as an object, several runs as an array; ends with a newline. Keys carry their
// units and are defined in metrics.md. Numbers read back as the same double. `fields` is empty, or
// has an element for each run.
std::string json_summary(std::span<const Summary> runs, std::span<const JsonFields> fields = {});
// Returns one run as a JSON object, as json_summary writes it.
Json json_of(const Summary& run);
// Sets the members of a summary that a trace does not contain (job and memory_host) from an object
// that json_of() made.
void add_from_json(const Json& json, Summary& run);
// Writes runs as an array of the objects of json_summary(), even a single run. `fields` is empty,
// or has an element for each run.
std::string json_list(std::span<const Summary> runs, std::span<const JsonFields> fields = {});

// Writes a header line, then one line for each device of each run, as RFC 4180 defines CSV. Unknown
// values are empty fields.
std::string csv_summary(std::span<const Summary> runs);

// Describes how a run exceeds the memory, "1f1b does not fit: device 0 (node-0-gpu-0) peaks at 82.1
// GiB at 1.63 s, 2.1 GiB over its 80.0 GiB, from 0.49 s on: weights 12.1 GiB, ..."; empty if the
// run fits.
std::string over_capacity_text(const Summary& run, const std::string& name);

// Describes how uneven the microbatches are, after the name of the run if it has one: "2 million
// tokens an iteration, 3.1 % of the computed tokens are padding; the same work would take 1.2 %
// less time if it were spread evenly over microbatches and ranks". Empty if all microbatches are
// alike.
std::string uneven_text(const Summary& run, std::string_view name);

// Table of each device's memory at its peak, with a column for each component that some device has.
std::string component_table(const Summary& run);

// Line with the memory components at the peak of the device with the highest peak.
std::string peak_line(const Summary& run);

}  // namespace pipewright::analysis
