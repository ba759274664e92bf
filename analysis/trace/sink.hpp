#pragma once

#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::trace {

// Where an engine reports to while it runs. `begin` comes first and once; rows of one device come
// in order of time; `finish` comes last, and only after a run that went well.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
                     const std::vector<StageRow>& stages) = 0;
  virtual void pass(const PassRow& row) = 0;
  virtual void transfer(const TransferRow& row) = 0;
  virtual void memory(const MemoryRow& row) = 0;
  virtual void collective(const CollectiveRow&) {}  // of data-parallel runs
  virtual void step(const StepRow&) {}              // of runs with an optimizer
  // What links did, at the end of a run; an engine keeps book of it for sinks that want it.
  virtual bool wants_links() const { return false; }
  virtual void link(const LinkRow&) {}
  virtual void link_use(const LinkUseRow&) {}
  virtual void path(const PathRow&) {}
  virtual void finish() = 0;
};

}  // namespace pipewright::trace
