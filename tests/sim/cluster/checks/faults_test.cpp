#include "sim/cluster/checks/faults.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;

namespace {

// Returns the faults found in a platform with this zone content, one per line.
std::string faults(const std::string& content, const std::string& routing = "Full") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='" +
                  routing + "'>\n" + content + "</zone></platform>\n");
  return tests::in_child([&] {
    std::string text;
    for (const cluster::Fault& fault :
         cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml")).faults)
      text += fmt::format("{}: {}\n", fault.line, fault.message);
    return text;
  });
}

std::string gpu(const std::string& name) {
  return "<host id='" + name +
         "' speed='312Tf'><prop id='gpu' value='a100-80gb'/>"
         "<prop id='memory' value='80GiB'/></host>\n";
}
std::string route(const std::string& from, const std::string& to, const std::string& link,
                  const std::string& attributes = "") {
  return "<route src='" + from + "' dst='" + to + "'" + attributes + "><link_ctn " + link +
         "/></route>\n";
}
const std::string duplex =
    "<link id='l' bandwidth='1GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>\n";

}  // namespace

TEST_CASE("a correct platform has no faults", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") + duplex + route("a", "b", "id='l' direction='UP'")) == "");
}

TEST_CASE("links of a spine that is farther away than others are reported as unused", "[faults]") {
  std::string nodes = gpu("a") + gpu("b") + "<router id='left'/><router id='right'/>\n";
  std::string links;
  std::string routes;
  const auto join = [&](const std::string& below, const std::string& above, const char* latency) {
    const std::string name = below + "-" + above;
    links += "<link id='" + name + "' bandwidth='94GBps' latency='" + latency +
             "' sharing_policy='SPLITDUPLEX'><prop id='class' value='up'/></link>\n";
    routes += route(below, above, "id='" + name + "' direction='UP'");
  };
  for (const char* const spine : {"s1", "s2", "s3", "s4"}) {
    nodes += std::string("<router id='") + spine + "'/>";
    const char* const latency = std::string_view(spine) == "s4" ? "2us" : "1us";
    join("left", spine, latency);
    join("right", spine, latency);
  }
  join("a", "left", "1us");
  join("b", "right", "1us");
  const std::string text = faults(nodes + "\n" + links + routes, "Floyd");
  CHECK_THAT(text, Catch::Contains("'left-s4' (and 1 more) is on no route (188 GB/s in total);"));
  CHECK(std::ranges::count(text, '\n') == 1);
}

TEST_CASE("GPUs without type, memory or speed are reported", "[faults]") {
  CHECK(faults("<host id='a' speed='1Gf'/>\n") ==
        "4: GPU 'a' has no property gpu; add its type, such as <prop id=\"gpu\" "
        "value=\"h100-sxm\"/>\n"
        "4: GPU 'a' has no property memory; add it, such as <prop id=\"memory\" value=\"80GiB\"/>\n"
        "4: GPU 'a' has a speed below 1 TFLOP/s, which is too low for a GPU; expected a speed such "
        "as speed=\"989Tf\"\n");
}

TEST_CASE("half-duplex links are reported if both directions use them", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") + "<link id='l' bandwidth='1GBps' latency='1us'/>\n" +
               route("a", "b", "id='l'")) ==
        "6: link 'l' is half duplex, so both directions share its bandwidth; use "
        "sharing_policy=\"SPLITDUPLEX\" for a full-duplex link\n");
  CHECK(faults(gpu("a") + gpu("b") +
               "<link id='l' bandwidth='1GBps' latency='1us' sharing_policy='FATPIPE'/>\n" +
               route("a", "b", "id='l'")) == "");
}

TEST_CASE("a platform without shared links is reported", "[faults]") {
  const std::string fat = "' bandwidth='1GBps' latency='1us' sharing_policy='FATPIPE'/>\n";
  CHECK(faults(gpu("a") + gpu("b") + "<link id='l" + fat + "<link id='m" + fat +
               route("a", "b", "id='l'/><link_ctn id='m'")) ==
        "0: all links are FATPIPE, so flows never share bandwidth; use "
        "sharing_policy=\"SPLITDUPLEX\" for shared links\n");
}

TEST_CASE("GPUs that differ from the library are reported", "[faults]") {
  const auto host_faults = [](const char* speed, const char* type, const char* memory) {
    return faults(
        fmt::format("<host id='a' speed='{}'><prop id='gpu' value='{}'/>"
                    "<prop id='memory' value='{}'/></host>\n",
                    speed, type, memory));
  };
  CHECK(host_faults("312Tf", "a100-80gb", "80GiB") == "");
  CHECK_THAT(host_faults("312Tf", "a100-800gb", "80GiB"),
             Catch::StartsWith("4: GPU 'a' has the unknown type 'a100-800gb'; the library has a10, "
                               "a100-40gb, a100-80gb, "));
  CHECK_THAT(host_faults("312Tf", "h100-sxm", "80GiB"),
             Catch::StartsWith("4: GPU 'a' has a speed of 312 TFLOP/s, but the peak of h100-sxm"));
  CHECK(host_faults("312Tf", "a100-80gb", "80MiB") ==
        "4: GPU 'a' has a memory of 80MiB, which is too small for a GPU; expected a size such as "
        "80GiB\n");
  CHECK(host_faults("312Tf", "a100-80gb", "0GiB") ==
        "4: GPU 'a' has a memory of 0GiB, which is too small for a GPU; expected a size such as "
        "80GiB\n");
}

namespace {

// Returns four GPUs around a switch whose links are equal, except that the third has the given
// bandwidth and latency.
std::string around_a_switch(const std::string& bandwidth, const std::string& latency) {
  std::string text;
  for (const char* name : {"a", "b", "c", "d"}) text += gpu(name);
  for (int i = 0; i < 4; ++i)
    text +=
        fmt::format("<link id='l{}' bandwidth='{}' latency='{}' sharing_policy='SPLITDUPLEX'/>\n",
                    i, i == 2 ? bandwidth : "200GBps", i == 2 ? latency : "2us");
  for (int i = 0; i < 4; ++i)
    for (int j = i + 1; j < 4; ++j)
      text += route(
          std::string(1, static_cast<char>('a' + i)), std::string(1, static_cast<char>('a' + j)),
          fmt::format("id='l{}' direction='UP'/><link_ctn id='l{}' direction='DOWN'", i, j));
  return text;
}

}  // namespace

TEST_CASE("a link that differs strongly from its class is reported", "[faults]") {
  CHECK(faults(around_a_switch("200GBps", "2us")) == "");
  // a link may have twice the bandwidth of its class, as two cables in parallel do
  CHECK(faults(around_a_switch("400GBps", "1us")) == "");
  const auto faults_of_bandwidth = [](const std::string& bandwidth) {
    return faults(around_a_switch(bandwidth, "2us"));
  };
  CHECK(faults_of_bandwidth("200Gbps") ==
        "10: link 'l2' has 25 GB/s, but links of class 'l' have 200\n");
  CHECK(faults_of_bandwidth("200TBps") ==
        "10: link 'l2' has 2e+05 GB/s, but links of class 'l' have 200\n");
  CHECK_THAT(faults_of_bandwidth("200kBps"),
             Catch::StartsWith("10: link 'l2' has 0.2 MB/s, which is too low"));
  CHECK_THAT(faults_of_bandwidth("200"), Catch::StartsWith("10: link 'l2' has 0.0002 MB/s"));
  CHECK_THAT(faults(around_a_switch("200GBps", "2ms")),
             Catch::StartsWith("10: link 'l2' has a latency of 2 ms, which is too high"));
  CHECK(faults(around_a_switch("200GBps", "0us")) ==
        "10: link 'l2' has a latency of 0 us, but links of class 'l' have 2\n");
}

TEST_CASE("a link that is slower than most of its class is reported", "[faults]") {
  // Cables that train to half of the lanes, or a switch that lost one of four cables.
  CHECK(faults(around_a_switch("100GBps", "2us")) ==
        "10: link 'l2' has 100 GB/s, but most links of class 'l' have 200; did a cable train to a "
        "lower rate?\n");
  CHECK_THAT(faults(around_a_switch("150GBps", "2us")),
             Catch::StartsWith("10: link 'l2' has 150 GB/s, but most links"));
  CHECK(faults(around_a_switch("199GBps", "2us")) == "");  // as other figures for the same link
}

TEST_CASE("parallel links between two GPUs are no fault", "[faults]") {
  // Two GPUs have four links of 10 GB/s, the others one.
  const auto link = [](const std::string& name, const std::string& bandwidth) {
    return "<link id='" + name + "' bandwidth='" + bandwidth +
           "' latency='1us' sharing_policy='SPLITDUPLEX'><prop id='class' value='x'/></link>\n";
  };
  const auto triangle = [&](const std::string& bandwidth) {
    return faults(gpu("a") + gpu("b") + gpu("c") + link("ab", bandwidth) + link("ac", "10GBps") +
                  link("bc", "10GBps") + route("a", "b", "id='ab' direction='UP'") +
                  route("a", "c", "id='ac' direction='UP'") +
                  route("b", "c", "id='bc' direction='UP'"));
  };
  CHECK(triangle("40GBps") == "");
  CHECK_THAT(triangle("45GBps"), Catch::Contains("link 'ab' has 45 GB/s, but links of class 'x'"));
}

TEST_CASE("uplinks are compared relative to the number of GPUs below them", "[faults]") {
  const tests::CommandFolder place;
  // Three leaves have four nodes each, and one leaf has a single node, which needs only a quarter
  // of the uplink.
  std::string text = cluster::make_platform(
      {.nodes = {{&cluster::find_node_kind("dgx-a100"), 13}}, .fabric = "leaf-spine"});
  const auto faults_of_text = [&] {
    place.write("p.xml", text);
    return tests::in_child([&] {
      std::string message;
      for (const auto& fault :
           cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml")).faults)
        message += fault.message + "\n";
      return message;
    });
  };
  CHECK(faults_of_text() == "");
  const std::string good = "id=\"leaf-0-up\" bandwidth=\"768GBps\"";
  REQUIRE(text.find(good) != std::string::npos);
  text.replace(text.find(good), good.size(), "id=\"leaf-0-up\" bandwidth=\"76.8GBps\"");
  CHECK(faults_of_text() ==
        "link 'leaf-0-up' has 76.8 GB/s, but links of class 'leaf-spine' have 768\n");
}

TEST_CASE("a GPU whose incoming and outgoing routes use the same direction of a link is reported",
          "[faults]") {
  const std::string second_link =
      "<link id='m' bandwidth='1GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>\n";
  const auto route_faults = [&](const std::string& far_end) {
    return faults(gpu("a") + gpu("b") + duplex + second_link +
                  route("a", "b",
                        "id='l' direction='UP'/><link_ctn id='m' direction='" + far_end + "'",
                        " symmetrical='NO'") +
                  route("b", "a", "id='m' direction='UP'/><link_ctn id='l' direction='DOWN'",
                        " symmetrical='NO'"));
  };
  CHECK(route_faults("DOWN") == "");
  CHECK(route_faults("UP") ==
        "7: link 'm_UP' carries both outgoing and incoming traffic of GPU 'b' in one direction; "
        "use the opposite direction for one of them\n");
}

TEST_CASE("duplicate links of a route and duplicate properties are reported", "[faults]") {
  CHECK_THAT(
      faults(gpu("a") + gpu("b") + duplex +
             route("a", "b", "id='l' direction='UP'/><link_ctn id='l' direction='UP'")),
      Catch::Contains("link 'l_DOWN' (and 1 more) appears twice on the route from 'b' to 'a'"));
  CHECK(faults("<host id='a' speed='312Tf'><prop id='gpu' value='a100-80gb'/>\n"
               "<prop id='memory' value='80GiB'/><prop id='memory' value='40GiB'/></host>\n") ==
        "5: property 'memory' is given twice in host 'a'; only one of them takes effect\n");
}

TEST_CASE("routes without latency are reported", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") +
               "<link id='l' bandwidth='1GBps' sharing_policy='SPLITDUPLEX'/>\n" +
               route("a", "b", "id='l' direction='UP'")) ==
        "4: no latency on the route from 'a' to 'b' (and 1 more)\n");
}

TEST_CASE("a missing return route is reported", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") + "<link id='l' bandwidth='1GBps' latency='1us'/>\n" +
               route("a", "b", "id='l'", " symmetrical='NO'")) ==
        "3: no route leads from 'b' to 'a': zone 'z' has no <route> from 'b' to 'a'\n");
}

TEST_CASE(
    "disconnected groups of GPUs are reported once, in place of the missing routes between them",
    "[faults]") {
  CHECK(
      faults(gpu("a") + gpu("b") + gpu("c") + duplex + route("a", "b", "id='l' direction='UP'")) ==
      "3: 2 groups of GPUs without a route between them: 2 GPUs with 'a', 1 with 'c': zone 'z' has "
      "no <route> from 'a' to 'c'\n");
}

TEST_CASE("disconnected rails are not a fault, but a missing route between connected rails is",
          "[faults]") {
  const tests::CommandFolder place;
  const auto first_fault = [&](const std::string& text) {
    place.write("p.xml", text);
    return tests::in_child([&] {
      const auto report = cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml"));
      return report.faults.empty() ? std::string() : report.faults.front().message;
    });
  };
  const std::string alone = cluster::make_platform(
      {.nodes = {{&cluster::find_node_kind("dgx-h100"), 4}}, .fabric = "rail-only"});
  CHECK(first_fault(alone).empty());
  // The added link connects only the leaves of rails 0 and 1, so most pairs of rails have no route.
  std::string joined = alone;
  const std::string link =
      "<link id=\"x\" bandwidth=\"48GBps\" latency=\"1us\"/>"
      "<zoneRoute src=\"leaf-0-0\" dst=\"leaf-0-1\" gw_src=\"leaf-0-0-switch\" "
      "gw_dst=\"leaf-0-1-switch\"><link_ctn id=\"x\"/></zoneRoute>";
  const std::string fabric = "<zone id=\"fabric\" routing=\"None\">";
  const std::size_t at = joined.find(fabric);
  REQUIRE(at != std::string::npos);
  joined.replace(at, fabric.size(), "<zone id=\"fabric\" routing=\"Full\">");
  joined.insert(joined.rfind("</zone>", joined.rfind("</zone>") - 1), link);
  CHECK_THAT(first_fault(joined), Catch::Contains("no route leads from"));
}

TEST_CASE("a missing route among many GPUs is reported with the number of affected pairs",
          "[faults]") {
  const tests::CommandFolder place;
  // A dragonfly with eight groups of two nodes, in which the route between groups 3 and 6 is
  // removed.
  std::string text = cluster::make_platform({.nodes = {{&cluster::find_node_kind("dgx-h100"), 16}},
                                             .fabric = "dragonfly",
                                             .leaf_nodes = 1,
                                             .group_leaves = 2});
  const std::size_t begin = text.find("<zoneRoute src=\"group-3\" dst=\"group-6\"");
  REQUIRE(begin != std::string::npos);
  const std::string end = "</zoneRoute>";
  text.erase(begin, text.find(end, begin) + end.size() - begin);
  place.write("p.xml", text);
  const std::string report_text = tests::in_child([&] {
    const auto report = cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml"));
    std::string message =
        fmt::format("{} {} {}", report.pairs, report.examined < 1000, report.is_sampled);
    for (const auto& fault : report.faults) message += "\n" + fault.message;
    return message;
  });
  // The 16 GPUs of each group cannot reach the 16 of the other, in both directions: 512 pairs.
  CHECK(report_text ==
        "16256 true false\nno route leads from 'node-6-gpu-0' to 'node-12-gpu-0' (and 511 more): "
        "zone 'fabric' has no <zoneRoute> from 'group-3' to 'group-6'");
}
