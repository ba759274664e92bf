#include "sim/execution/collectives/plan.hpp"

#include <limits>

#include <fmt/format.h>

#include "sim/execution/collectives/ways.hpp"

namespace pipewright::execution {
namespace {

struct Best {
  Choice choice;
  const Way* way = nullptr;
  std::vector<ByProtocol> transfers;  // of its phases; all 0 where they do not matter
};

bool needs_transfer(const Draft& draft) { return draft.is_tree || draft.ends > 0; }

Best best_of(const std::vector<Way>& ways, double bytes, const Places& places) {
  const bool chooses = ways.size() > 1 || ways.front().protocols.size() > 1;
  double least = std::numeric_limits<double>::infinity();
  Best best;
  for (const Way& way : ways) {
    std::vector<ByProtocol> transfers;
    for (const Draft& draft : way.phases)
      transfers.push_back(chooses || needs_transfer(draft) ? transfer(draft, places)
                                                           : ByProtocol{});
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
    best.way = &way;
    best.transfers = std::move(transfers);
  }
  return best;
}

}  // namespace

std::vector<Phase> plan(workload::Collective kind, double bytes,
                        std::span<const std::uint32_t> members, Algorithm algorithm,
                        const Places& places) {
  if (members.size() < 2 || bytes <= 0) return {};
  const std::vector<Way> all = ways(kind, members, algorithm, places);
  const Best best = best_of(all, bytes, places);
  std::vector<Phase> phases;
  for (std::size_t i = 0; i < best.way->phases.size(); ++i)
    phases.push_back(
        phase_of(best.way->phases[i], best.transfers[i], best.choice.protocol, bytes, places));
  return phases;
}

Choice choose(workload::Collective kind, double bytes, std::span<const std::uint32_t> members,
              Algorithm algorithm, const Places& places) {
  if (members.size() < 2 || bytes <= 0) return {.algorithm = algorithm};
  return best_of(ways(kind, members, algorithm, places), bytes, places).choice;
}

std::string to_string(const Choice& choice) {
  return fmt::format("{}, {}", config::to_string(choice.algorithm),
                     cluster::to_string(choice.protocol));
}

}  // namespace pipewright::execution
