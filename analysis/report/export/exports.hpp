#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// Writes a trace as Chrome's trace-event JSON, which ui.perfetto.dev opens ("Trace Event Format",
// Duffy and Sinclair; object form). Each device is a process with threads for passes, transfers
// that it sends and receives, collectives and optimizer steps. Arrows lead from a pass to the pass
// that takes its output. Counters show memory and, in a process of their own, the busiest links.
// Memory only holds what is in flight, for any number of rows. The text is complete after finish().
std::unique_ptr<trace::Sink> chrome_export(std::ostream& stream);

// Writes a trace in Paje's format ("Paje trace file format", Schnorr 2014), which ViTE and PajeNG
// read, with the event definitions of SimGrid. Each device is a container with passes as states,
// transfers as links and memory by component as variables; collectives and optimizer steps are in
// containers below it. Events are ordered by time, with temporary files if there are many. The text
// is complete after finish().
std::unique_ptr<trace::Sink> paje_export(std::ostream& stream);

// Returns the names of the tables of a trace, in the order of format.md, and "run", the table of
// the attributes of the trace.
std::vector<std::string> csv_table_names();

// Writes tables as CSV: a line of column names with units, then one line per row. Calls
// `open_stream` for the stream of each table when the trace begins; nullptr leaves the table out.
std::unique_ptr<trace::Sink> csv_export(
    const std::function<std::ostream*(const std::string& table)>& open_stream);

}  // namespace pipewright::analysis
