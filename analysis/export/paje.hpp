#pragma once

#include <memory>
#include <ostream>

#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// Writes a trace in Paje's format ("Paje trace file format", Schnorr 2014), which ViTE and PajeNG
// read, with the event definitions of SimGrid: a container for each device with its passes as
// states, transfers as links, memory by component as variables; collectives and optimizer's steps
// in containers of their own below it. Events come in order of time, sorted through temporary
// files where they are many; the text is whole after finish().
std::unique_ptr<trace::Sink> paje_export(std::ostream& stream);

}  // namespace pipewright::analysis
