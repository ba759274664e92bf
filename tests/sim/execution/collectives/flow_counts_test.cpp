#include "sim/execution/collectives/flow_counts.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using execution::FlowCounts;
using execution::FlowKinds;

TEST_CASE("flows with the same bytes under every protocol are of one kind", "[collectives]") {
  FlowKinds kinds;
  const std::uint32_t first = kinds.number_of({1, 2, 3});
  CHECK(kinds.number_of({1, 2, 4}) != first);
  CHECK(kinds.number_of({1, 2, 3}) == first);
  CHECK(kinds.bytes(first, cluster::Protocol::simple) == 1);
}

TEST_CASE("links with the same flows and capacity are listed once", "[collectives]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  const execution::RankPlacement placement(cluster, cluster.gpus());
  const std::vector<const cluster::Link*> links = cluster.links();
  FlowCounts counts;
  for (const cluster::Link* link : links) {
    counts.add(link, 0);
    counts.add(link, 0);
  }
  std::map<std::pair<double, bool>, std::vector<const cluster::Link*>> capacities;
  for (const cluster::Link* link : links)
    capacities[{placement.capacity_of(link), cluster::is_shared(link)}].push_back(link);
  CHECK(counts.size() == links.size());
  CHECK(counts.counts(0) == FlowCounts::Counts{{0, 2}});
  CHECK(counts.distinct(placement).size() == capacities.size());
  const auto twins =
      std::ranges::find_if(capacities, [](const auto& entry) { return entry.second.size() > 1; });
  REQUIRE(twins != capacities.end());
  counts.add(twins->second.front(), 1, 3);
  CHECK(counts.distinct(placement).size() == capacities.size() + 1);
  counts.clear();
  CHECK(counts.size() == 0);
  counts.add(links.front(), 1);
  CHECK(counts.counts(0) == FlowCounts::Counts{{1, 1}});
}
