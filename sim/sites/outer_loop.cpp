#include "sim/sites/outer_loop.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace pipewright::sites {

double OuterLoop::exchange() const {
  return 2 * bytes / fragments / bandwidth * (1 - 1.0 / sites) + latency;
}

OuterOutcome simulate(const OuterLoop& loop) {
  // Exchanges may end in a later round; their ends repeat from round to round after a few rounds.
  constexpr std::uint64_t warm_up = 4;
  constexpr std::uint64_t measured = 8;
  struct Exchange {
    std::uint64_t due = 0;  // training waits for it at the end of this iteration
    double end = 0;         // seconds from the start of the first round
  };
  const double exchange = loop.exchange();
  std::deque<Exchange> under_way;
  double time = 0;
  double connection_free = 0;
  double start = 0;
  OuterOutcome outcome;
  const auto wait_until = [&](double end) {
    outcome.longest_wait = std::max(outcome.longest_wait, end - time);
    time = std::max(time, end);
  };
  for (std::uint64_t iteration = 1; iteration <= (warm_up + measured) * loop.every; ++iteration) {
    time += loop.iteration;
    while (!under_way.empty() && under_way.front().due <= iteration) {
      wait_until(under_way.front().end);
      under_way.pop_front();
    }
    // Number of fragments whose exchange begins at the end of this iteration of the round.
    const std::uint64_t in_round = (iteration - 1) % loop.every;
    const std::uint64_t before = in_round * loop.fragments / loop.every;
    const std::uint64_t sent = (in_round + 1) * loop.fragments / loop.every - before;
    for (std::uint64_t fragment = 0; fragment < sent; ++fragment) {
      connection_free = std::max(connection_free, time) + exchange;
      under_way.push_back({iteration + loop.overlap, connection_free});
    }
    if (loop.overlap == 0)
      for (; !under_way.empty(); under_way.pop_front()) wait_until(under_way.front().end);
    if (iteration == warm_up * loop.every) {
      start = time;
      outcome.longest_wait = 0;
    }
  }
  outcome.round = (time - start) / measured;
  outcome.utilisation = std::min(1.0, loop.every * loop.iteration / outcome.round);
  outcome.connection_busy = loop.fragments * exchange / outcome.round;
  return outcome;
}

double bandwidth_for(OuterLoop loop, double utilisation) {
  double low = 1;
  double high = 1e18;
  loop.bandwidth = high;
  if (simulate(loop).utilisation < utilisation) return 0;
  while (high / low > 1 + 1e-6) {
    loop.bandwidth = std::sqrt(low * high);
    (simulate(loop).utilisation < utilisation ? low : high) = loop.bandwidth;
  }
  return high;
}

}  // namespace pipewright::sites
