#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/execution/collectives/phase.hpp"

namespace pipewright::execution {

// Kinds of flows: flows of one kind carry the same bytes on the wire for each byte of a collective,
// under each protocol.
class FlowKinds {
 public:
  std::uint32_t number_of(const ByProtocol& bytes);
  double bytes(std::uint32_t kind, Protocol protocol) const {
    return bytes_[kind][static_cast<std::size_t>(protocol)];
  }

 private:
  std::vector<ByProtocol> bytes_;
  std::map<ByProtocol, std::uint32_t> numbers_;
  std::uint32_t last_ = 0;  // kind of the last call
};

// Numbers of flows of each kind on links. They are counted once for all protocols and sizes.
class FlowCounts {
 public:
  using Counts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // kind, number of flows

  void add(const cluster::Link* link, std::uint32_t kind, std::uint32_t count = 1);
  void clear();  // keeps the memory

  std::size_t size() const { return links_.size(); }
  const cluster::Link* link(std::size_t i) const { return links_[i]; }
  const Counts& counts(std::size_t i) const { return counts_[i]; }
  // Returns an index for each set of links with the same capacity and the same flows.
  std::vector<std::size_t> distinct(const RankPlacement& placement);

 private:
  std::vector<std::uint32_t> slots_;  // by number of the link, from 1; 0: no flows
  std::vector<const cluster::Link*> links_;
  std::vector<Counts> counts_;  // by slot; may be longer than links_
};

}  // namespace pipewright::execution
