#include "sim/cluster/cluster.hpp"

#include <catch2/catch.hpp>

#include "sim/execution/simgrid/mirror.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"
#include "support/runs.hpp"

using namespace pipewright;
using cluster::Cluster;

namespace {

Cluster dgx_a100() { return Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/dgx-a100.xml"); }

// Simulates flows of 1 GB along these routes that start at the same time, and returns when each
// ends.
std::vector<double> finish(const Cluster& cluster, const std::vector<cluster::Route>& routes) {
  namespace sg4 = cluster::sg4;
  execution::Mirror& mirror = execution::begin_mirror(cluster);
  std::vector<double> ends;
  const double begin = sg4::Engine::get_clock();
  cluster::add_actor(mirror.host(routes.front().source), "sender", [&] {
    std::vector<sg4::CommPtr> flows;
    for (const auto& route : routes)
      flows.push_back(sg4::Comm::sendto_async(mirror.host(route.source),
                                              mirror.host(route.destination), 1'000'000'000));
    for (const auto& flow : flows) {
      flow->wait();
      ends.push_back(flow->get_finish_time() - begin);
    }
  });
  cluster::engine().run();
  return ends;
}

}  // namespace

TEST_CASE("ranks are placed on the first GPUs in natural order, or on the named hosts",
          "[cluster]") {
  const Cluster cluster = dgx_a100();
  const auto hosts = cluster.place({}, 12);
  CHECK(cluster.gpus().size() == 32);
  CHECK(cluster::name_of(hosts[0]) == "node-0-gpu-0");
  CHECK(cluster::name_of(hosts[8]) == "node-1-gpu-0");
  CHECK(cluster::name_of(cluster.place({"node-3-gpu-7"}, 1)[0]) == "node-3-gpu-7");
  CHECK(cluster::memory_of(hosts[0]) == 80ULL << 30U);
  CHECK(cluster::gpu_of(hosts[0]) == "a100-80gb");
  CHECK_THROWS_WITH(cluster.place({}, 33), Catch::EndsWith("has 32 GPUs, but the job needs 33"));
  CHECK_THROWS_WITH(cluster.place({"node-0-nic-0"}, 1),
                    Catch::Contains("has no GPU 'node-0-nic-0'"));
}

TEST_CASE("GPUs of a node communicate over NVLink, GPUs of different nodes over their NICs",
          "[cluster]") {
  const Cluster cluster = dgx_a100();
  const auto hosts = cluster.place({}, 12);
  const cluster::Route inside = cluster.route(hosts[0], hosts[1]);
  CHECK(inside.latency == Approx(3.4e-6));
  CHECK(inside.bandwidth == Approx(230e9));
  CHECK(cluster.link_class(inside.links[0]) == "nvlink");
  const cluster::Route rail = cluster.route(hosts[0], hosts[8]);
  CHECK(rail.latency == Approx(28.6e-6));
  CHECK(rail.bandwidth == Approx(24e9));
  CHECK(rail.links.size() == 2);
  CHECK(cluster.link_class(rail.links[0]) == "nic");
  CHECK(rail.seconds(24'000'000) == Approx(1e-3 + 28.6e-6));
  const cluster::Route across = cluster.route(hosts[0], hosts[9]);
  CHECK(across.latency == Approx(29e-6));
  CHECK(cluster.link_class(across.links[1]) == "leaf-spine");
  CHECK(cluster.node_of(hosts[7]) == 0);
  CHECK(cluster.node_of(hosts[8]) == 1);
  const cluster::Route nowhere = cluster.route(hosts[0], hosts[0]);
  CHECK(nowhere.latency == 0);
  CHECK(nowhere.seconds(1) == 0);
}

TEST_CASE("flows share the links of their routes", "[cluster]") {
  const Cluster cluster = dgx_a100();
  const auto hosts = cluster.place({}, 32);
  // Two flows enter the same NIC and share it; the third is alone on its NICs.
  const std::vector<double> ends =
      finish(cluster, {cluster.route(hosts[0], hosts[8]), cluster.route(hosts[16], hosts[8]),
                       cluster.route(hosts[1], hosts[9])});
  CHECK(ends[0] == Approx(2 / 24.0).epsilon(1e-9));
  CHECK(ends[1] == Approx(2 / 24.0).epsilon(1e-9));
  CHECK(ends[2] == Approx(1 / 24.0).epsilon(1e-9));
}

TEST_CASE("an added route loads a link as often as it is listed", "[cluster]") {
  Cluster cluster = dgx_a100();
  const auto hosts = cluster.place({}, 32);
  const cluster::Route single = cluster.route(hosts[0], hosts[8]);
  std::vector<const cluster::Link*> links;
  for (const auto* link : single.links) links.insert(links.end(), 3, link);
  const cluster::Route triple = cluster.add_route(links);
  CHECK(triple.latency == Approx(single.latency));
  CHECK(triple.bandwidth == single.bandwidth);
  // A route that crosses the NIC three times gets x and the single route y, with 3 x + y = 24 GB/s
  // and x = y.
  std::vector<double> ends = finish(cluster, {triple, single});
  CHECK(ends[0] == Approx(4 / 24.0).epsilon(1e-9));
  CHECK(ends[1] == Approx(4 / 24.0).epsilon(1e-9));
  // Routes can also be added after a simulation has run.
  ends = finish(cluster, {cluster.add_route({single.links[0], single.links[0]})});
  CHECK(ends[0] == Approx(2 / 24.0).epsilon(1e-9));
}

TEST_CASE("a link can be slower, or fail", "[cluster]") {
  Cluster cluster = dgx_a100();
  const auto hosts = cluster.place({}, 32);
  const std::string name = Cluster::link_name(cluster.route(hosts[0], hosts[8]).links[0]);
  CHECK(name == "leaf-0-0_link_0_UP");
  cluster.scale_link("leaf-0-0_link_0", 0.5);
  CHECK(cluster.route(hosts[0], hosts[8]).bandwidth == Approx(12e9));
  CHECK(cluster.route(hosts[8], hosts[0]).bandwidth == Approx(12e9));
  CHECK(finish(cluster, {cluster.route(hosts[0], hosts[8])})[0] == Approx(1 / 12.0).epsilon(1e-9));
  cluster.scale_link("leaf-0-0_link_0_UP", 0);
  CHECK_THROWS_WITH(cluster.route(hosts[0], hosts[8]),
                    "link 'leaf-0-0_link_0_UP' has failed, and no other route leads from "
                    "'node-0-gpu-0' to 'node-1-gpu-0'");
  CHECK(cluster.route(hosts[8], hosts[0]).bandwidth == Approx(12e9));
  CHECK_THROWS_WITH(cluster.scale_link("leaf", 1),
                    Catch::Contains("has no link, NIC or switch 'leaf'"));
  CHECK_THROWS_WITH(cluster.scale_link("leaf-0-0_link_0", -1), Catch::Contains("must be finite"));
}

TEST_CASE("the bandwidth of a link class and the latency of all routes can be scaled",
          "[cluster]") {
  Cluster cluster = dgx_a100();
  const auto hosts = cluster.place({}, 32);
  const cluster::Route across = cluster.route(hosts[0], hosts[9]);
  const cluster::Route inside = cluster.route(hosts[0], hosts[1]);
  cluster.scale_bandwidth("nic", 0.5);
  CHECK(cluster.route(hosts[0], hosts[9]).bandwidth == Approx(12e9));
  CHECK(cluster.route(hosts[0], hosts[1]).bandwidth == inside.bandwidth);
  cluster.scale_latency(0.5);
  CHECK(cluster.route(hosts[0], hosts[9]).latency == Approx(across.latency / 2));
  CHECK(cluster.route(hosts[0], hosts[1]).latency == Approx(inside.latency / 2));
  CHECK_THROWS_WITH(cluster.scale_bandwidth("string", 2),
                    Catch::Contains("has no links of class 'string'"));
  CHECK_THROWS_WITH(cluster.scale_bandwidth("nic", 0), Catch::Contains("must be finite and > 0"));
  CHECK_THROWS_WITH(cluster.scale_latency(-1), Catch::Contains("must be finite and > 0"));
  Cluster ideal = Cluster::ideal(0.5);
  ideal.scale_latency(0.5);
  CHECK(ideal.route(nullptr, nullptr).latency == Approx(0.25));
}

TEST_CASE("GPUs reach other nodes through NICs even if SimGrid loads the file", "[cluster]") {
  const tests::CommandFolder place;
  const auto node = [](const std::string& name) {
    return "<cluster id='" + name + "' prefix='" + name +
           "-gpu-' suffix='' radical='0-1' speed='1Tf' bw='10GBps' lat='1us'>"
           "<prop id='gpu' value='x'/><prop id='nic' value='" +
           name + "-port'/><prop id='class' value='nvlink'/></cluster>";
  };
  place.write(
      "p.xml",
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='z' routing='None'>" +
          node("n-0") + node("n-1") +
          "<cluster id='t' topology='TORUS' topo_parameters='2,1' prefix='n-' radical='0-1' "
          "suffix='-port' speed='1f' bw='1GBps' lat='1us' loopback_bw='1GBps'>"
          "<prop id='latency' value='5us'/></cluster></zone></platform>\n");
  const Cluster cluster = Cluster::load(place.folder() / "p.xml");
  REQUIRE(cluster.gpus().size() == 4);
  const cluster::Route inside = cluster.route(cluster.gpus()[0], cluster.gpus()[1]);
  CHECK(inside.bandwidth == 10e9);
  CHECK(cluster.link_class(inside.links[0]) == "nvlink");
  const cluster::Route across = cluster.route(cluster.gpus()[0], cluster.gpus()[3]);
  CHECK(cluster::name_of(across.source) == "n-0-port");
  CHECK(cluster::name_of(across.destination) == "n-1-port");
  CHECK(across.latency == Approx(11e-6));
  CHECK(finish(cluster, {across})[0] == Approx(1).epsilon(1e-9));
}

TEST_CASE("latencies between coordinates of zones belong to routes, and are paid once",
          "[cluster]") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Vivaldi'>"
              "<peer id='a' coordinates='0 0 0' speed='1Tf' bw_in='1GBps' bw_out='1GBps'/>"
              "<peer id='b' coordinates='3 4 0' speed='1Tf' bw_in='1GBps' bw_out='1GBps'/>"
              "<peer id='c' coordinates='300 400 0' speed='1Tf' bw_in='1GBps' bw_out='1GBps'/>"
              "</zone></platform>\n");
  const Cluster cluster = Cluster::load(place.folder() / "p.xml");
  const auto& gpus = cluster.gpus();
  REQUIRE(gpus.size() == 3);
  CHECK(cluster.route(gpus[0], gpus[1]).latency == Approx(5e-3));  // coordinates are in ms
  CHECK(cluster.route(gpus[0], gpus[2]).latency == Approx(500e-3));
  // The host with less latency gets no larger share of the common link.
  const auto ends =
      finish(cluster, {cluster.route(gpus[0], gpus[1]), cluster.route(gpus[0], gpus[2])});
  CHECK(ends[0] == Approx(2).epsilon(1e-9));
  CHECK(ends[1] == Approx(2).epsilon(1e-9));
}

TEST_CASE("a route without links is valid if it has a latency", "[cluster]") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Vivaldi'>"
              "<host id='a' coordinates='0 0 1' speed='1Tf'/>"
              "<host id='b' coordinates='3 4 2' speed='1Tf'/></zone></platform>\n");
  const Cluster cluster = Cluster::load(place.folder() / "p.xml");
  const cluster::Route route = cluster.route(cluster.gpus()[0], cluster.gpus()[1]);
  CHECK(route.latency == Approx(8e-3));  // the third coordinate is a latency of the host itself
  CHECK(route.links.empty());
  CHECK(route.seconds(1'000'000'000) == route.latency);
}

TEST_CASE("a placement names existing hosts, one for each rank", "[cluster]") {
  const auto& cluster = tests::bench_cluster();
  CHECK_THROWS_WITH(cluster.place({"star-0", "star-9"}, 2), Catch::Contains("has no GPU 'star-9'"));
  CHECK_THROWS_WITH(cluster.place({"star-0", "star-0"}, 2), Catch::Contains("named twice"));
  CHECK_THROWS_WITH(cluster.place({"star-0"}, 2),
                    "placement names 1 hosts, but the job needs 2 GPUs");
}

TEST_CASE("an error names the hosts without a route between them", "[cluster]") {
  const auto& cluster = tests::bench_cluster();
  const auto hosts = cluster.place({"star-0", "near"}, 2);
  CHECK_THROWS_WITH(cluster.route(hosts[0], hosts[1]),
                    Catch::EndsWith("no route leads from 'star-0' to 'near'"));
}

TEST_CASE("several clusters in a process are independent", "[cluster]") {
  const Cluster a100 = dgx_a100();
  Cluster h100 = Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/dgx-h100.xml");
  const Cluster second_a100 = dgx_a100();
  const auto rate = [](const Cluster& cluster) {
    return cluster.route(cluster.gpus()[0], cluster.gpus()[8]).bandwidth;
  };
  // Payload reaches 24 of the 25 GB/s of an HDR NIC, and 49 of the 50 GB/s of an NDR NIC.
  CHECK(rate(a100) == Approx(24e9));
  CHECK(rate(h100) == Approx(49e9));
  h100.scale_bandwidth("nic", 0.5);
  CHECK(rate(h100) == Approx(24.5e9));
  CHECK(rate(second_a100) == Approx(24e9));
  // Hosts and links of the clusters have the same names, which must not mix them up in SimGrid.
  for (const Cluster* cluster : {&a100, static_cast<const Cluster*>(&h100), &second_a100}) {
    const auto& gpus = cluster->gpus();
    const std::vector<double> ends =
        finish(*cluster, {cluster->route(gpus[0], gpus[8]), cluster->route(gpus[1], gpus[9])});
    CHECK(ends[0] == Approx(1e9 / rate(*cluster)).epsilon(1e-9));
    CHECK(ends[1] == Approx(1e9 / rate(*cluster)).epsilon(1e-9));
  }
  const Cluster ideal = Cluster::ideal(0.5);
  CHECK(ideal.route(ideal.gpus()[0], ideal.gpus()[0]).latency == 0.5);
}

TEST_CASE("SimGrid can load only one platform in a process", "[cluster]") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Vivaldi'>"
              "<host id='a' coordinates='0 0 1' speed='1Tf'/></zone></platform>\n");
  const Cluster first = Cluster::load(place.folder() / "p.xml");
  const Cluster second = dgx_a100();
  CHECK(finish(second, {second.route(second.gpus()[0], second.gpus()[8])})[0] ==
        Approx(1 / 24.0).epsilon(1e-9));
  CHECK_THROWS_AS(Cluster::load(place.folder() / "p.xml"), std::logic_error);
}

TEST_CASE("an ideal network takes its latency regardless of size", "[cluster]") {
  const auto network = tests::ideal_network(0.5);
  const auto hosts = network.place({}, 2);
  CHECK(network.route(hosts[0], hosts[1]).seconds(1ULL << 40U) == 0.5);
  CHECK(network.name() == "ideal network, 500 ms a hop");
  CHECK(tests::ideal_network(0).name() == "ideal network");
}
