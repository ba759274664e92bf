#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// Writes a trace as Chrome's trace-event JSON, which ui.perfetto.dev opens ("Trace Event Format",
// Duffy and Sinclair; object form): a process for each device with threads for passes, transfers
// that it sends and receives, collectives and optimizer's steps; arrows from a pass to the one
// that takes in what it made; counters of memory, and of the busiest links in a process of theirs.
// Holds what is in flight, however many rows there are. Its text is whole after finish().
std::unique_ptr<trace::Sink> chrome_export(std::ostream& stream);

// Writes a trace in Paje's format ("Paje trace file format", Schnorr 2014), which ViTE and PajeNG
// read, with the event definitions of SimGrid: a container for each device with its passes as
// states, transfers as links, memory by component as variables; collectives and optimizer's steps
// in containers of their own below it. Events come in order of time, sorted through temporary
// files where they are many; the text is whole after finish().
std::unique_ptr<trace::Sink> paje_export(std::ostream& stream);

// The tables of a trace (format.md) in their order there, and `run`, which has its attributes.
std::vector<std::string> csv_table_names();

// Writes tables as CSV: a line of column names, which end in their units, then a line a row. Asks
// `stream_of` for each table's stream when it begins; nullptr leaves that table out.
std::unique_ptr<trace::Sink> csv_export(
    const std::function<std::ostream*(const std::string& table)>& stream_of);

}  // namespace pipewright::analysis
