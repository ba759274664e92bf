#include "sim/execution/flows/limiting_links.hpp"

#include <deque>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/execution/flows/fair_sharing.hpp"
#include "support/random.hpp"

using namespace pipewright;
using cluster::Link;
using Route = std::vector<const Link*>;

namespace {

// Links by number, with bandwidths in bytes/s.
std::deque<Link> make_links(const std::vector<double>& bandwidths) {
  std::deque<Link> links;
  for (const double bandwidth : bandwidths)
    links.push_back({.bandwidth = bandwidth, .number = static_cast<std::uint32_t>(links.size())});
  return links;
}

std::vector<bool> may_limit(const std::deque<Link>& links, const std::vector<Route>& routes) {
  execution::LimitingLinks limiting_links;
  for (const Route& route : routes) limiting_links.add(route);
  std::vector<bool> result;
  for (const Link& link : links) result.push_back(limiting_links.may_limit(&link));
  return result;
}

}  // namespace

TEST_CASE("an uplink limits rates if the NICs below it let more through", "[limiting]") {
  // Two NICs up, an uplink, two NICs down: flows cross one NIC at either end.
  for (const auto& [uplink, limits] :
       {std::pair{20.0, false}, std::pair{25.0, false}, std::pair{19.0, true}}) {
    const auto links = make_links({10, 10, uplink, 10, 10});
    const std::vector<Route> routes{{&links[0], &links[2], &links[3]},
                                    {&links[0], &links[2], &links[4]},
                                    {&links[1], &links[2], &links[4]}};
    CAPTURE(uplink);
    CHECK(may_limit(links, routes) == std::vector<bool>{true, true, limits, true, true});
  }
}

TEST_CASE("a downlink limits no rate if the NICs behind it let less through", "[limiting]") {
  // Three NICs send through a downlink of 20 to two NICs.
  const auto links = make_links({10, 10, 10, 20, 10, 10});
  std::vector<Route> routes;
  for (std::size_t source = 0; source < 3; ++source)
    for (std::size_t destination = 4; destination < 6; ++destination)
      routes.push_back({&links[source], &links[3], &links[destination]});
  CHECK_FALSE(may_limit(links, routes)[3]);
  // A flow that ends at the switch is limited by no NIC behind the downlink.
  routes.push_back({&links[0], &links[3]});
  CHECK(may_limit(links, routes)[3]);
}

TEST_CASE("a link counts as often as a divided flow crosses it", "[limiting]") {
  // A flow crosses its NIC once and each of two uplinks once, or one uplink twice.
  const auto links = make_links({10, 12, 12});
  CHECK(may_limit(links, {{&links[0], &links[1], &links[2]}}) ==
        std::vector<bool>{true, false, false});
  CHECK(may_limit(links, {{&links[0], &links[1], &links[1], &links[2]}}) ==
        std::vector<bool>{true, true, false});
  // Crossed twice, the NIC lets half as much through.
  CHECK(may_limit(links, {{&links[0], &links[0], &links[1], &links[1], &links[2]}}) ==
        std::vector<bool>{true, false, false});
}

TEST_CASE("equal links in a row do not leave the limit to each other", "[limiting]") {
  const auto links = make_links({10, 10});
  CHECK(may_limit(links, {{&links[0], &links[1]}}) == std::vector<bool>{true, true});
}

TEST_CASE("rates of random flows are the same without links that never limit one", "[limiting]") {
  tests::Random random(5);
  int left_out = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<double> bandwidths;
    const std::uint32_t count = random.whole(3, 9);
    for (std::uint32_t i = 0; i < count; ++i)
      bandwidths.push_back(static_cast<double>(random.whole(1, 6) * random.whole(1, 6)));
    const auto links = make_links(bandwidths);
    std::vector<Route> routes(random.whole(1, 8));
    for (Route& route : routes)
      for (std::uint32_t crossings = random.whole(1, 4); crossings > 0; --crossings)
        route.push_back(&links[random.whole(0, count - 1)]);
    const std::vector<bool> limits = may_limit(links, routes);
    // Several flows of a route may be in progress at once, and some of none.
    std::vector<execution::FlowPath> every_link;
    std::vector<execution::FlowPath> limiting;
    for (const Route& route : routes)
      for (std::uint32_t flows = random.whole(0, 3); flows > 0; --flows) {
        every_link.emplace_back();
        limiting.emplace_back();
        for (const Link* link : route) {
          every_link.back().links.push_back(link->number);
          if (limits[link->number]) limiting.back().links.push_back(link->number);
          left_out += limits[link->number] ? 0 : 1;
        }
      }
    const auto rates = [&](const std::vector<execution::FlowPath>& paths) {
      std::vector<const execution::FlowPath*> flows;
      for (const execution::FlowPath& path : paths) flows.push_back(&path);
      execution::FairSharing sharing(bandwidths);
      std::vector<double> result;
      for (const execution::FairShare& share : sharing.share(flows)) result.push_back(share.rate);
      return result;
    };
    const std::vector<double> expected = rates(every_link);
    const std::vector<double> without = rates(limiting);
    CAPTURE(round);
    REQUIRE(expected.size() == without.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(without[i] == Approx(expected[i]).epsilon(1e-9));
  }
  CHECK(left_out > 200);
}
