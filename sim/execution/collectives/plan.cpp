#include "sim/execution/collectives/plan.hpp"

#include <limits>

#include <fmt/format.h>

#include "sim/execution/collectives/ways.hpp"

namespace pipewright::execution {
namespace {

struct Best {
  Choice choice;
  std::size_t way = 0;
  std::vector<ByProtocol> transfers;  // of its phases; all 0 where they do not matter
};

bool needs_transfer(const Draft& draft) { return draft.is_tree || draft.ends > 0; }

std::vector<ByProtocol> transfers_of(const Way& way, bool all, const Places& places) {
  std::vector<ByProtocol> transfers;
  for (const Draft& draft : way.phases)
    transfers.push_back(all || needs_transfer(draft) ? transfer(draft, places) : ByProtocol{});
  return transfers;
}

Best fastest(const std::vector<Way>& ways, double bytes, const Places& places) {
  const bool chooses = ways.size() > 1 || ways.front().protocols.size() > 1;
  double least = std::numeric_limits<double>::infinity();
  Best best;
  for (const Way& way : ways) {
    std::vector<ByProtocol> transfers = transfers_of(way, chooses, places);
    bool takes = false;
    for (const Protocol protocol : way.protocols) {
      double seconds = 0;
      for (std::size_t i = 0; i < way.phases.size(); ++i)
        seconds += transfers[i][static_cast<std::size_t>(protocol)] * bytes +
                   overhead(way.phases[i], transfers[i], protocol, bytes);
      if (seconds >= least) continue;
      least = seconds;
      best.choice = {way.algorithm, protocol};
      takes = true;
    }
    if (!takes) continue;
    best.way = static_cast<std::size_t>(&way - ways.data());
    best.transfers = std::move(transfers);
  }
  return best;
}

// Chosen by what NCCL reckons with, and carried out on the network as it is.
Best best_of(const std::vector<Way>& all, workload::Collective kind, double bytes,
             std::span<const std::uint32_t> members, Algorithm algorithm, const Places& places) {
  if (!places.cluster().expects_otherwise()) return fastest(all, bytes, places);
  const Places expected = places.expected();
  Best best = fastest(ways(kind, members, algorithm, expected), bytes, expected);
  best.transfers = transfers_of(all[best.way], false, places);
  return best;
}

}  // namespace

std::vector<Phase> plan(workload::Collective kind, double bytes,
                        std::span<const std::uint32_t> members, Algorithm algorithm,
                        const Places& places) {
  if (members.size() < 2 || bytes <= 0) return {};
  const std::vector<Way> all = ways(kind, members, algorithm, places);
  const Best best = best_of(all, kind, bytes, members, algorithm, places);
  const Way& way = all[best.way];
  std::vector<Phase> phases;
  for (std::size_t i = 0; i < way.phases.size(); ++i)
    phases.push_back(
        phase_of(way.phases[i], best.transfers[i], best.choice.protocol, bytes, places));
  return phases;
}

Choice choose(workload::Collective kind, double bytes, std::span<const std::uint32_t> members,
              Algorithm algorithm, const Places& places) {
  if (members.size() < 2 || bytes <= 0) return {.algorithm = algorithm};
  return best_of(ways(kind, members, algorithm, places), kind, bytes, members, algorithm, places)
      .choice;
}

std::string to_string(const Choice& choice) {
  return fmt::format("{}, {}", config::to_string(choice.algorithm),
                     cluster::to_string(choice.protocol));
}

}  // namespace pipewright::execution
