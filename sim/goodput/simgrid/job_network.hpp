#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/cluster/simgrid/engine.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

namespace sg4 = simgrid::s4u;

// Difference in seconds below which two times count as equal.
inline constexpr double time_tolerance = 1e-6;
inline double now() { return sg4::Engine::get_clock(); }

// Returns true if training and checkpoints compete for a network.
inline bool shares_network(const Setting& setting) {
  return setting.network > 0 && setting.traffic > 0;
}

// Hosts and links for the flows of a job. The hosts represent all nodes of the job, their peers and
// the storage; there is a link for each limit of a flow.
struct JobNetwork {
  // Returns the bytes per second that training at full speed sends; an arbitrary number if the
  // network is not shared.
  static double pace(const Setting& setting);

  sg4::Host* job = nullptr;
  sg4::Host* peers = nullptr;
  sg4::Host* storage = nullptr;
  sg4::Link* training = nullptr;  // Its bandwidth is the speed of training.
  sg4::Link* network = nullptr;   // Null if the network is not shared.
  sg4::Link* write = nullptr;
  sg4::Link* read = nullptr;
};

// Makes separate networks for a number of jobs.
std::vector<JobNetwork> make_job_networks(const Setting& setting, std::size_t jobs);

// Waits for the first of these flows to end and returns its index; returns nothing if none has
// ended after `seconds`.
std::optional<std::size_t> wait_for_first(const std::vector<sg4::CommPtr>& flows, double seconds);

}  // namespace pipewright::goodput
