#pragma once

#include <cstdint>

// Training over several sites that average their weights every few iterations.
namespace pipewright::sites {

struct OuterLoop {
  double iteration = 0;  // seconds, without any exchange
  double bytes = 0;      // of the changes of all weights
  std::uint32_t sites = 2;
  double bandwidth = 0;       // bytes/s of a site, each way
  double latency = 0;         // seconds of an exchange
  std::uint32_t every = 100;  // iterations
  std::uint32_t fragments = 1;
  std::uint32_t overlap = 0;  // iterations

  // Seconds in which all sites exchange and average one fragment: a ring sends 2 (1 - 1 / sites)
  // of its bytes (arXiv 2501.18512, appendix; arXiv 2503.09799, appendix A).
  double exchange() const;
};

struct OuterOutcome {
  double utilisation = 0;      // share of the time in which sites train
  double round = 0;            // seconds of `every` iterations with their exchanges
  double longest_wait = 0;     // seconds that training waits for one exchange
  double connection_busy = 0;  // share of the time in which connections carry changes
};

// Simulates rounds of the loop until they repeat. Fragment p of P is sent at the end of iteration
// (p + 1) every / P of a round. Exchanges share a connection one after the other. Training waits
// for an exchange that has not ended `overlap` iterations later.
OuterOutcome simulate(const OuterLoop& loop);

// Returns the least bandwidth, in bytes/s, that gives a utilisation; 0 if none does.
double bandwidth_for(OuterLoop loop, double utilisation);

}  // namespace pipewright::sites
