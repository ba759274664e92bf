#pragma once

#include <memory>
#include <ostream>

#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// Writes a trace as Chrome's trace-event JSON, which ui.perfetto.dev opens ("Trace Event Format",
// Duffy and Sinclair; object form): a process for each device with threads for passes, transfers
// that it sends and receives, collectives and optimizer's steps; arrows from a pass to the one
// that takes in what it made; counters of memory, and of the busiest links in a process of theirs.
// Holds what is in flight, however many rows there are. Its text is whole after finish().
std::unique_ptr<trace::Sink> chrome_export(std::ostream& stream);

}  // namespace pipewright::analysis
