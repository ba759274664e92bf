#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

class TraceIndex;

// By how much something may get slower before the run takes longer, everything else being as it
// was, collectives within passes too; timed again as retiming.hpp says.
struct StageSlack {
  std::uint32_t stage = 0;
  double slack = 0;        // of what its passes compute, 0.1: 10 % longer; infinite: whatever
  double seconds = 0;      // the same of a pass of mean duration
  double cost_s = 0;       // by which the run takes longer if they are 10 % slower
  double mean_pass_s = 0;  // without collectives within it
  std::uint64_t passes = 0;
};

struct LinkSlack {
  std::string link_class;  // of the narrowest link on the way; empty: not known
  double slack = 0;        // of its boundary tensors' transfers
  double seconds = 0;
  double cost_s = 0;
  double mean_transfer_s = 0;
  std::uint64_t transfers = 0;
};

// Empty where the trace does not say when inputs arrived.
struct Slack {
  std::vector<StageSlack> stages;
  std::vector<LinkSlack> links;
};

Slack slack(const trace::Trace& trace);
Slack slack(const trace::Trace& trace, const TraceIndex& index);

}  // namespace pipewright::analysis
