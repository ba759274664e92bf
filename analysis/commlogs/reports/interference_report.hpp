#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What kinds of traffic do to each other on one network. Times in seconds, of the slowest group.
namespace pipewright::analysis {

// Groups of ranks that do the same at the same time, as the tensor-parallel groups of a job do.
struct TrafficFigures {
  std::string name;       // "dp"
  std::string operation;  // "all-reduce of 256.0 MiB"
  std::string by;         // "ring, LL128"
  std::uint64_t groups = 0;
  std::uint64_t ranks = 0;  // of a group
  double one_group = 0;     // the group that takes longest, with nothing else on the network
  double alone = 0;         // all groups at once, and nothing else

  double slow_down() const { return alone / one_group; }  // by each other
};

// Links of one class over which both kinds of traffic go in the same direction.
struct SharedLinks {
  std::string link_class;
  std::uint64_t links = 0;
  std::string busiest;     // the one on which both together take longest
  double bandwidth = 0;    // bytes/s of it
  double bytes = 0;        // of the one kind, over it, each time
  double other_bytes = 0;  // of the other
};

// Two kinds of traffic at once. "Busy": while the other kind sends all the time, each of its flows
// anew as soon as it ends, without a pause. Where it goes through several phases, over other links
// each, the speeds in these count by how long they take alone. "Together": both start at the same
// time, once, and who ends first leaves the network to the other.
struct Encounter {
  std::size_t one = 0;  // index of the kinds of traffic
  std::size_t other = 0;
  double one_busy = 0;
  double other_busy = 0;
  double one_together = 0;
  double other_together = 0;
  std::vector<SharedLinks> shared;  // the busiest first
};

struct Interference {
  std::string cluster;
  std::uint64_t ranks = 0;
  std::string layout;  // "tp 8, dp 2, pp 4"
  std::vector<TrafficFigures> traffic;
  std::vector<Encounter> encounters;  // of each two kinds

  // How many times as long one kind takes while another is busy; beside itself: see slow_down().
  double slow_down(std::size_t one, std::size_t other) const;
};

std::string interference_text(const Interference& found);
std::string interference_json(const Interference& found);

}  // namespace pipewright::analysis
