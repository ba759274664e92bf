#include "sim/cluster/make/pair_links.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace pipewright::cluster {
namespace {

constexpr std::size_t table_gpus = 8;
using LinkTable = std::array<std::array<int, table_gpus>, table_gpus>;

// Number of NVLinks between two GPUs of a DGX-1, for the first GPU (row) and each GPU after it
// (column). GPUs with 0 NVLinks communicate over PCIe.
constexpr LinkTable cube_mesh{{{0, 1, 1, 2, 2, 0, 0, 0},
                               {0, 0, 2, 1, 0, 2, 0, 0},
                               {0, 0, 0, 2, 0, 0, 1, 0},
                               {0, 0, 0, 0, 0, 0, 0, 1},
                               {0, 0, 0, 0, 0, 1, 1, 2},
                               {0, 0, 0, 0, 0, 0, 2, 1},
                               {0, 0, 0, 0, 0, 0, 0, 2},
                               {}}};

// Number of xGMI links between two dies of four MI250X, for the first die (row) and each die after
// it (column), from Frontier's user guide.
constexpr LinkTable twin_mesh{{{0, 4, 1, 0, 0, 0, 2, 0},
                               {0, 0, 0, 1, 0, 1, 0, 0},
                               {0, 0, 0, 4, 2, 0, 0, 0},
                               {0, 0, 0, 0, 0, 0, 0, 1},
                               {0, 0, 0, 0, 0, 4, 1, 0},
                               {0, 0, 0, 0, 0, 0, 0, 1},
                               {0, 0, 0, 0, 0, 0, 0, 4},
                               {}}};

int links_in(NodeKind::Wiring wiring, std::uint32_t a, std::uint32_t b) {
  const LinkTable& table = wiring == NodeKind::Wiring::twin_mesh ? twin_mesh : cube_mesh;
  return table.at(std::min(a, b)).at(std::max(a, b));
}

// Assigns a position to GPU places.size() and all GPUs after it. Positions are tried in order, so
// that GPUs that are in the table's order keep it.
bool extend_places(NodeKind::Wiring wiring, const LinkCounts& links, bool counts_known,
                   std::vector<std::uint32_t>& places) {
  const std::size_t gpu = places.size();
  if (gpu == table_gpus) return true;
  for (std::uint32_t place = 0; place < table_gpus; ++place) {
    bool fits = std::ranges::find(places, place) == places.end();
    for (std::size_t other = 0; other < gpu && fits; ++other) {
      const int expected = links_in(wiring, places[other], place);
      fits =
          counts_known ? links[other][gpu] == expected : (links[other][gpu] > 0) == (expected > 0);
    }
    if (!fits) continue;
    places.push_back(place);
    if (extend_places(wiring, links, counts_known, places)) return true;
    places.pop_back();
  }
  return false;
}

}  // namespace

LinkCounts link_counts(const NodeKind& kind) {
  using Wiring = NodeKind::Wiring;
  LinkCounts links(kind.gpus, std::vector<int>(kind.gpus, 0));
  const auto place_of = [&](std::uint32_t gpu) {
    return kind.places.empty() ? gpu : kind.places.at(gpu);
  };
  for (std::uint32_t a = 0; a < kind.gpus && kind.wiring != Wiring::pairs; ++a)
    for (std::uint32_t b = 0; b < kind.gpus; ++b)
      if (a != b)
        links[a][b] =
            kind.wiring == Wiring::mesh ? 1 : links_in(kind.wiring, place_of(a), place_of(b));
  if (kind.wiring == Wiring::pairs)
    for (const PairLinks& pair : kind.pairs)
      links.at(pair.a).at(pair.b) = links.at(pair.b).at(pair.a) = pair.links;
  return links;
}

std::vector<std::uint32_t> relays_between(const LinkCounts& links, std::uint32_t a,
                                          std::uint32_t b) {
  constexpr std::uint32_t unreached = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> hops(links.size(), unreached);  // to b
  std::vector<int> width(links.size(), 0);  // most links on the narrowest hop of a shortest path
  std::vector<std::uint32_t> open{b};
  hops[b] = 0;
  width[b] = std::numeric_limits<int>::max();
  // GPUs enter `open` by their number of hops, so the width of a GPU is known when its turn comes.
  for (std::size_t i = 0; i < open.size(); ++i)
    for (std::uint32_t gpu = 0; gpu < links.size(); ++gpu) {
      if (links[open[i]][gpu] == 0) continue;
      if (hops[gpu] == unreached) {
        hops[gpu] = hops[open[i]] + 1;
        open.push_back(gpu);
      }
      if (hops[gpu] == hops[open[i]] + 1)
        width[gpu] = std::max(width[gpu], std::min(width[open[i]], links[open[i]][gpu]));
    }
  std::vector<std::uint32_t> relays;
  if (hops[a] == unreached) return relays;
  for (std::uint32_t at = a; hops[at] > 1;) {
    std::uint32_t next = 0;
    while (links[at][next] == 0 || hops[next] + 1 != hops[at] ||
           std::min(links[at][next], width[next]) < width[a])
      ++next;
    relays.push_back(next);
    at = next;
  }
  return relays;
}

bool is_relaying(const NodeKind& kind) {
  return kind.relay || kind.wiring == NodeKind::Wiring::twin_mesh;
}

bool has_pcie_pairs(const NodeKind& kind) {
  using Wiring = NodeKind::Wiring;
  if (kind.wiring != Wiring::pairs) return kind.wiring == Wiring::cube_mesh;
  const LinkCounts links = link_counts(kind);
  for (std::uint32_t a = 0; a < kind.gpus; ++a)
    for (std::uint32_t b = a + 1; b < kind.gpus; ++b)
      if (links[a][b] == 0 && (!kind.relay || relays_between(links, a, b).empty())) return true;
  return false;
}

std::optional<std::vector<std::uint32_t>> places_in(NodeKind::Wiring wiring,
                                                    const LinkCounts& links, bool counts_known) {
  std::vector<std::uint32_t> places;
  if (links.size() != table_gpus || !extend_places(wiring, links, counts_known, places))
    return std::nullopt;
  return places;
}

}  // namespace pipewright::cluster
