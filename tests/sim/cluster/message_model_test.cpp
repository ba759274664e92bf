#include "sim/cluster/message_model.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/cluster.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using cluster::MessageModel;
using cluster::Protocol;

namespace {

using Properties = std::vector<std::pair<std::string, std::string>>;

MessageModel read(const Properties& properties) {
  return cluster::read_message_model(properties, {"nic", "nvlink"});
}
void check_fault(const Properties& properties, const std::string& words) {
  CHECK_THROWS_WITH(read(properties), Catch::Contains(words));
}

}  // namespace

TEST_CASE("messages have no cost beside links without properties", "[message_model]") {
  const MessageModel model = read({{"made-by", "somebody"}, {"some.thing", "else"}});
  CHECK(model.launch == 0);
  CHECK(model.has(Protocol::simple));
  CHECK_FALSE(model.has(Protocol::ll));
  CHECK(model.of("nvlink").efficiency == 1);
  CHECK_FALSE(model.of("nvlink").latency);
}

TEST_CASE("properties of the outermost zone set numbers of a class or of all collectives",
          "[message_model]") {
  const MessageModel model = read({{"collective.launch", "8us"},
                                   {"collective.message", "2.5 us"},
                                   {"nic.latency", "9us"},
                                   {"nic.efficiency", "0.9"},
                                   {"nic.ll-latency", "0.19"},
                                   {"nvlink.ll128-efficiency", "0.92"},
                                   {"nvlink.sharp-efficiency", "0.83"},
                                   {"collective.simple-launch", "3us"},
                                   {"collective.nccl", "2.27"},
                                   {"nvlink.message", "0.3us"},
                                   {"nvlink.generation", "5"}});
  CHECK(model.launch == Approx(8e-6));
  CHECK(model.message == Approx(2.5e-6));
  CHECK(*model.of("nic").latency == Approx(9e-6));
  CHECK(model.of("nic").efficiency == 0.9);
  CHECK(model.has(Protocol::ll));
  CHECK(model.of("nic").per_protocol[1]->latency == 0.19);
  CHECK(model.of("nic").per_protocol[1]->efficiency == 1);
  CHECK(model.of("nvlink").per_protocol[2]->efficiency == 0.92);
  CHECK(model.of("nvlink").in_switch->efficiency == 0.83);
  CHECK(model.simple_launch == Approx(3e-6));
  CHECK(model.nccl == 27U);
  CHECK(*model.of("nvlink").message == Approx(0.3e-6));
  CHECK_FALSE(model.of("nic").message);
  CHECK(model.of("nvlink").generation == 5);
}

TEST_CASE("every parameter can be set and read by its name", "[message_model]") {
  MessageModel model;
  for (const cluster::ParameterInfo& info : cluster::parameter_list()) {
    const std::string name =
        (info.is_per_class ? "nvlink." : "collective.") + std::string(info.suffix);
    CAPTURE(name);
    const double value = std::min(info.maximum, 0.5);
    cluster::set_parameter(model, name, value);
    CHECK(cluster::parameter(model, name) == value);
    CHECK_THROWS_WITH(cluster::set_parameter(model, name, info.maximum * 2),
                      Catch::Contains(name) && Catch::Contains("allowed are"));
  }
  CHECK_FALSE(cluster::parameter(model, "nic.latency"));
}

TEST_CASE("unknown parameters and invalid values are rejected", "[message_model]") {
  check_fault({{"nic.latencie", "1us"}}, "'latencie' is unknown; choose from latency, efficiency");
  check_fault({{"collective.lunch", "1us"}}, "'lunch' is unknown; choose from launch");
  check_fault({{"nvlnk.latency", "1us"}},
              "there are no links of class 'nvlnk'; the classes are nic");
  check_fault({{"nic.latency", "quick"}}, "property 'nic.latency'");
  check_fault({{"nic.efficiency", "0"}}, "property 'nic.efficiency' is 0");
  check_fault({{"nic.ll-efficiency", "1.5"}}, "allowed are 0.001 to 1");
  check_fault({{"collective.nccl", "1.9"}},
              "is '1.9'; allowed: a version of NCCL from 2.4 to 2.30");
  check_fault({{"collective.nccl", "2.99"}}, "is '2.99'; allowed: a version of NCCL from 2.4");
  check_fault({{"nvlink.generation", "6"}}, "NVLink generations are 1, 2, 3, 4, 5");
}

TEST_CASE("an error in a property names the line of the platform file", "[message_model]") {
  CHECK_THROWS_WITH(
      tests::make_cluster({{2}, 0, false, {{"collective.launch", "1us"}, {"nic.latenc", "1us"}}}),
      Catch::Contains("cluster.xml:5: property 'nic.latenc'"));
}

TEST_CASE("the latency and efficiency of a class override those of its links", "[message_model]") {
  auto cluster = tests::make_cluster(
      {{2, 2}, 0, false, {{"nvlink.latency", "3us"}, {"nvlink.efficiency", "0.5"}}});
  const auto route = cluster.route(cluster.gpus()[0], cluster.gpus()[1]);
  CHECK(route.latency == Approx(6e-6));
  CHECK(route.bandwidth == Approx(tests::nvlink / 2));
  const auto across = cluster.route(cluster.gpus()[0], cluster.gpus()[2]);
  CHECK(across.latency == Approx(tests::outside));

  cluster.set_parameter("nvlink.efficiency", 0.75);
  CHECK(cluster.route(cluster.gpus()[0], cluster.gpus()[1]).bandwidth ==
        Approx(0.75 * tests::nvlink));
  CHECK_THROWS_WITH(cluster.set_parameter("pcie.latency", 1e-6), Catch::Contains("no links"));
}

TEST_CASE("a protocol scales the latency and bandwidth of a route", "[message_model]") {
  const auto cluster = tests::make_cluster({{2, 2},
                                            0,
                                            false,
                                            {{"nic.ll-latency", "0.25"},
                                             {"nic.ll-efficiency", "0.5"},
                                             {"nvlink.ll128-latency", "0.5"}}});
  const auto across = cluster.route(cluster.gpus()[0], cluster.gpus()[2]);
  // The route has two NICs of 2 us each and a fabric of 1 us. Protocols change only the latency of
  // NICs.
  CHECK(across.per_protocol[0].latency == Approx(5e-6));
  CHECK(across.per_protocol[1].latency == Approx(4e-6 / 4 + 1e-6));
  CHECK(across.per_protocol[1].efficiency == 0.5);
  CHECK(across.per_protocol[2].latency == Approx(5e-6));
  const auto same_node = cluster.route(cluster.gpus()[0], cluster.gpus()[1]);
  CHECK(same_node.per_protocol[2].latency == Approx(1e-6));
  CHECK(same_node.per_protocol[1].efficiency == 1);
}
