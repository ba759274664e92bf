#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/cluster/simgrid/engine.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

namespace sg4 = simgrid::s4u;

// Within which two times are one: a millionth of a second is nothing in months.
inline constexpr double same = 1e-6;
inline double now() { return sg4::Engine::get_clock(); }

// Whether training and checkpoints compete for a network.
inline bool shares(const Setting& setting) { return setting.network > 0 && setting.traffic > 0; }

// What one job's flows run over: hosts that stand for all of its nodes, for their peers and for the
// storage, with a link for each thing that bounds a flow.
struct Lines {
  // Bytes a second of training at full speed; of one that shares no network any number does.
  static double pace(const Setting& setting);

  sg4::Host* job = nullptr;
  sg4::Host* peers = nullptr;
  sg4::Host* storage = nullptr;
  sg4::Link* training = nullptr;  // at the speed of training
  sg4::Link* network = nullptr;   // null: each has its own
  sg4::Link* write = nullptr;
  sg4::Link* read = nullptr;
};

// Of so many jobs, which do not see each other.
std::vector<Lines> make_lines(const Setting& setting, std::size_t jobs);

// The first of these flows to end, by number; none: `seconds` have passed.
std::optional<std::size_t> wait_for_first(const std::vector<sg4::CommPtr>& flows, double seconds);

}  // namespace pipewright::goodput
