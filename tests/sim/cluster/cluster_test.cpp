#include "sim/cluster/cluster.hpp"

#include <catch2/catch.hpp>

#include "support/program.hpp"
#include "support/runs.hpp"

using namespace pipewright;

TEST_CASE("devices are placed on the first hosts in natural order, or where they are told",
          "[cluster]") {
  const auto cluster = cluster::Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/dgx-a100.xml");
  const auto hosts = cluster.place({}, 12);
  CHECK(cluster::name_of(hosts[0]) == "node-0-gpu-0");
  CHECK(cluster::name_of(hosts[8]) == "node-1-gpu-0");
  CHECK(cluster::name_of(cluster.place({"node-3-gpu-7"}, 1)[0]) == "node-3-gpu-7");
  CHECK(cluster::memory_of(hosts[0]) == 80ULL << 30U);
  CHECK_THROWS_WITH(cluster.place({}, 33), Catch::EndsWith("has 32 hosts, but the pipeline has 33 "
                                                           "devices"));

  // NVLink up and down: 2 us at 300 GB/s. Two NICs and the fabric: 2.4 us at 25 GB/s.
  const cluster::Route inside = cluster.route(hosts[0], hosts[1]);
  CHECK(inside.latency == Approx(2e-6));
  CHECK(inside.bandwidth == Approx(300e9));
  const cluster::Route across = cluster.route(hosts[0], hosts[8]);
  CHECK(across.latency == Approx(2.4e-6));
  CHECK(across.bandwidth == Approx(25e9));
  CHECK(across.seconds(25'000'000) == Approx(1e-3 + 2.4e-6));
}

TEST_CASE("a placement names hosts that are there, one for each device", "[cluster]") {
  const auto& cluster = tests::bench_cluster();
  CHECK_THROWS_WITH(cluster.place({"star-0", "star-9"}, 2),
                    Catch::Contains("has no host 'star-9'"));
  CHECK_THROWS_WITH(cluster.place({"star-0", "star-0"}, 2), Catch::Contains("named twice"));
  CHECK_THROWS_WITH(cluster.place({"star-0"}, 2),
                    "placement names 1 hosts, but the pipeline has 2 devices");
}

TEST_CASE("hosts without a way between them are named", "[cluster]") {
  const auto& cluster = tests::bench_cluster();
  const auto hosts = cluster.place({"star-0", "near"}, 2);
  CHECK_THROWS_WITH(cluster.route(hosts[0], hosts[1]),
                    Catch::EndsWith("no route leads from 'star-0' to 'near'"));
}

TEST_CASE("a process loads one platform", "[cluster]") {
  tests::bench_cluster();
  CHECK_THROWS_AS(cluster::Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/dgx-a100.xml"),
                  std::logic_error);
}

TEST_CASE("an ideal network costs its latency whatever the size", "[cluster]") {
  const auto network = tests::ideal_network(0.5);
  const auto hosts = network.place({}, 2);
  CHECK(network.route(hosts[0], hosts[1]).seconds(1ULL << 40U) == 0.5);
  CHECK(network.name() == "ideal network, 500 ms a hop");
}

TEST_CASE("what SimGrid would end the process over is an error", "[cluster]") {
  const tests::Workplace place;
  const auto complaint = [&](const std::string& inside) {
    place.write("p.xml",
                "<?xml version='1.0'?>\n"
                "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                "<platform version=\"4.1\">" +
                    inside + "</platform>\n");
    const tests::Ran ran = place.run("run -s 1 -b 1 -f 1 --backward-times 1 --cluster p.xml");
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, Catch::StartsWith("pipewright: p.xml: SimGrid cannot load it: "));
    return ran.err;
  };
  CHECK_THAT(complaint(""), Catch::Contains("p.xml"));
  CHECK_THAT(complaint("<zone id='z' routing='Full'><host id='h' speed='1Gf'/>"
                       "<link id='l' bandwidth='1GBps' latency='0s'/>"
                       "<link id='l' bandwidth='1GBps' latency='0s'/></zone>"),
             Catch::Contains("l"));
}

TEST_CASE("what SimGrid says of a platform comes with the file's name and line", "[cluster]") {
  const tests::Workplace place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Full'>\n"
              "<host id='a' speed='1Gx'/></zone></platform>\n");
  CHECK_THROWS_WITH(cluster::Cluster::load(place.folder() / "p.xml"),
                    Catch::Contains("p.xml:4: ") && Catch::Contains("Gx"));
}
