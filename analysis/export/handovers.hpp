#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/export/spans.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The pass that makes a boundary tensor and the pass on another device that takes it in.
struct Handover {
  trace::TransferKind kind;
  std::uint32_t from;  // device
  std::uint32_t to;
  Span producer;
  Span consumer;
};

// Matches passes as they come. It remembers those whose counterpart is still to come: of a trace in
// the order of an engine, what is in flight.
class Handovers {
 public:
  explicit Handovers(const std::vector<trace::StageRow>& stages);

  std::optional<Handover> produced(const trace::PassRow& pass, const Span& span);
  std::optional<Handover> consumed(const trace::PassRow& pass, const Span& span);

 private:
  struct Side {
    bool produces;
    std::uint32_t device;
    Span span;
  };
  std::optional<Handover> match(trace::TransferKind kind, std::uint32_t stage,
                                std::uint32_t microbatch, const Side& side);

  std::uint32_t stages_ = 0;
  std::unordered_map<std::uint64_t, Side> waiting_;
};

}  // namespace pipewright::analysis
