#include "sim/cluster/platform/roles.hpp"

#include <catch2/catch.hpp>

using namespace pipewright::cluster;

namespace {

// Hosts with properties in named zones; Member objects point into this object.
struct Hosts {
  struct Host {
    std::string name;
    Index zone;
    std::string gpu, node, nics;
  };
  explicit Hosts(std::vector<Host> list) : hosts(std::move(list)) {}

  std::vector<Member> members() const {
    const auto or_null = [](const std::string& text) { return text.empty() ? nullptr : &text; };
    std::vector<Member> members;
    for (const Host& host : hosts)
      members.push_back({.name = &host.name,
                         .zone = host.zone,
                         .gpu = or_null(host.gpu),
                         .node = or_null(host.node),
                         .nics = or_null(host.nics)});
    return members;
  }
  std::vector<Host> hosts;
};

}  // namespace

TEST_CASE("GPUs of a zone are a node and share its NICs in natural order", "[roles]") {
  const Hosts hosts({{"g10", 0, "a", "", "n-[0-1]"},
                     {"g2", 0, "a", "", "n-[0-1]"},
                     {"g1", 0, "a", "", "n-[0-1]"},
                     {"g11", 0, "a", "", "n-[0-1]"},
                     {"h0", 1, "a", "", "n-1"},
                     {"n-0", 2, "", "", ""},
                     {"n-1", 2, "", "", ""}});
  const Roles roles = assign_roles(hosts.members());
  CHECK(roles.gpus == std::vector<Index>{2, 1, 0, 3, 4});
  CHECK(roles.by_member[2].nics == std::vector<Index>{5});
  CHECK(roles.by_member[1].nics == std::vector<Index>{5});
  CHECK(roles.by_member[0].nics == std::vector<Index>{6});
  CHECK(roles.by_member[3].nics == std::vector<Index>{6});
  CHECK(roles.by_member[4].nics == std::vector<Index>{6});
  CHECK(roles.by_member[0].node == 0);
  CHECK(roles.by_member[4].node == 1);
  CHECK_FALSE(roles.by_member[5].is_gpu);
}

TEST_CASE("without a property gpu, all hosts except NICs are GPUs", "[roles]") {
  const Hosts hosts({{"a", 0, "", "", "n"}, {"b", 0, "", "", ""}, {"n", 1, "", "", ""}});
  const Roles roles = assign_roles(hosts.members());
  CHECK(roles.gpus == std::vector<Index>{0, 1});
  CHECK(roles.by_member[1].nics.empty());
}

TEST_CASE("a property node combines hosts of several zones, or divides a zone", "[roles]") {
  const Hosts hosts({{"a", 0, "x", "left", ""},
                     {"b", 1, "x", "left", ""},
                     {"c", 1, "x", "right", ""},
                     {"d", 1, "x", "", ""}});
  const Roles roles = assign_roles(hosts.members());
  CHECK(roles.by_member[0].node == 0);
  CHECK(roles.by_member[1].node == 0);
  CHECK(roles.by_member[2].node == 1);
  CHECK(roles.by_member[3].node == 2);
}

TEST_CASE("a missing NIC and NICs that cannot be shared evenly are rejected", "[roles]") {
  const auto fault = [](const std::string& nics) {
    const Hosts hosts({{"a", 0, "x", "", nics}, {"b", 0, "x", "", nics}, {"c", 0, "x", "", nics}});
    try {
      assign_roles(hosts.members());
    } catch (const MemberError& error) {
      return error.fault.found();
    }
    return std::string();
  };
  CHECK(fault("eth") == "nic 'eth' is not a host of this platform");
  CHECK_THAT(fault("eth-[0-1]"), Catch::StartsWith("3 GPUs cannot share 2 NICs evenly"));
  CHECK_THAT(fault("eth-[0"), Catch::StartsWith("nic 'eth-[0' must name hosts"));
}
