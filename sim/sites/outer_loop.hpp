#pragma once

#include <cstdint>

// Training over several sites that average their weights every few iterations.
namespace pipewright::sites {

struct OuterLoop {
  double iteration = 0;  // seconds of an iteration without exchanges
  double bytes = 0;      // bytes of the changes of all weights
  std::uint32_t sites = 2;
  double bandwidth = 0;         // bytes/s of a site's connection, each way
  double latency = 0;           // seconds of an exchange in addition to its transfer
  std::uint32_t every = 100;    // iterations between two exchanges of the same weights
  std::uint32_t fragments = 1;  // number of parts of the weights, which are exchanged in turn
  std::uint32_t overlap = 0;    // iterations for which training may go on during an exchange

  // Returns the seconds in which all sites exchange and average one fragment. In a ring, each site
  // sends 2 (1 - 1 / sites) times the bytes of the fragment (arXiv 2501.18512, appendix; arXiv
  // 2503.09799, appendix A).
  double exchange() const;
};

struct OuterOutcome {
  double utilisation = 0;      // share of the time in which sites train
  double round = 0;            // mean seconds of `every` iterations with their exchanges
  double longest_wait = 0;     // most seconds for which training waits for an exchange
  double connection_busy = 0;  // share of the time in which connections carry changes
};

// Simulates enough rounds of the loop for a steady state. A round has `every` iterations. The
// exchange of fragment p of P begins at the end of iteration (p + 1) every / P of a round, or when
// the exchange before it ends. Training waits for an exchange that has not ended `overlap`
// iterations after that iteration.
OuterOutcome simulate(const OuterLoop& loop);

// Returns the least bandwidth, in bytes/s, that gives a utilisation; 0 if none does.
double bandwidth_for(OuterLoop loop, double utilisation);

}  // namespace pipewright::sites
