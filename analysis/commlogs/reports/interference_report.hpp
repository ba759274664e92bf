#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Mutual slow-down of several kinds of traffic on one network, such as the all-reduces of
// data-parallel groups and the messages of a pipeline. Times are those of the slowest group, in
// seconds.
namespace pipewright::analysis {

// Groups of ranks that run the same operation at the same time, such as the tensor-parallel groups
// of a job.
struct TrafficFigures {
  std::string name;       // "dp"
  std::string operation;  // "all-reduce of 256.0 MiB"
  std::string method;     // Algorithm and protocol: "ring, LL128".
  std::uint64_t groups = 0;
  std::uint64_t ranks = 0;  // Ranks of a group.
  double one_group = 0;     // Time of the slowest group alone on the network.
  double alone = 0;         // Time of all groups at once, without other traffic.

  double slow_down() const { return alone / one_group; }  // Slow-down of the groups by each other.
};

// Links of one class that carry both kinds of traffic in the same direction.
struct SharedLinks {
  std::string link_class;
  std::uint64_t links = 0;
  std::string busiest;   // Link with the longest time for both kinds together.
  double bandwidth = 0;  // Bandwidth of the busiest link, in bytes/s.
  double bytes = 0;      // Bytes that one operation of the first kind sends over the busiest link.
  double other_bytes = 0;  // Bytes of the second kind.
};

// Two kinds of traffic at once. "Busy" is the time of a kind while the other kind sends without
// pause: each of its flows starts again as soon as it ends, and phases that use different links
// count by their duration when alone. "Together" is the time if both kinds start once, at the same
// time; the later one has the network for itself after the earlier one ends.
struct Encounter {
  std::size_t one = 0;  // Indices of the two kinds in Interference::traffic.
  std::size_t other = 0;
  double one_busy = 0;
  double other_busy = 0;
  double one_together = 0;
  double other_together = 0;
  std::vector<SharedLinks> shared;  // Ordered from the busiest class to the least busy one.
};

struct Interference {
  std::string cluster;
  std::uint64_t ranks = 0;
  std::string layout;  // "tp 8, dp 2, pp 4"
  std::vector<TrafficFigures> traffic;
  std::vector<Encounter> encounters;  // One entry per pair of kinds.

  // Returns the slow-down of kind `one` while kind `other` sends without pause. If both are equal,
  // returns TrafficFigures::slow_down().
  double slow_down(std::size_t one, std::size_t other) const;
};

std::string interference_text(const Interference& interference);
std::string interference_json(const Interference& interference);

}  // namespace pipewright::analysis
