#include "sim/cluster/checks/faults.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;

namespace {

// The faults of a zone with this in it, one a line.
std::string faults(const std::string& inside, const std::string& routing = "Full") {
  const tests::Workplace place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='" +
                  routing + "'>\n" + inside + "</zone></platform>\n");
  return tests::in_child([&] {
    std::string text;
    for (const cluster::Fault& fault :
         cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml")).faults)
      text += fmt::format("{}: {}\n", fault.line, fault.what);
    return text;
  });
}

std::string gpu(const std::string& name) {
  return "<host id='" + name +
         "' speed='312Tf'><prop id='gpu' value='a100-80gb'/>"
         "<prop id='memory' value='80GiB'/></host>\n";
}
std::string route(const std::string& from, const std::string& to, const std::string& link,
                  const std::string& more = "") {
  return "<route src='" + from + "' dst='" + to + "'" + more + "><link_ctn " + link +
         "/></route>\n";
}
const std::string duplex =
    "<link id='l' bandwidth='1GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>\n";

}  // namespace

TEST_CASE("a sound platform has no faults", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") + duplex + route("a", "b", "id='l' direction='UP'")) == "");
}

TEST_CASE("of four spines between two leaves, those that are farther are found", "[faults]") {
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
  const std::string found = faults(nodes + "\n" + links + routes, "Floyd");
  CHECK_THAT(found, Catch::Contains("'left-s4' (and 1 more) is on no route, 188 GB/s in all;"));
  CHECK(std::ranges::count(found, '\n') == 1);
}

TEST_CASE("GPUs without type, memory or speed are found", "[faults]") {
  CHECK(faults("<host id='a' speed='1Gf'/>\n") ==
        "4: GPU 'a' has no property gpu; its type, as in <prop id=\"gpu\" value=\"h100-sxm\"/>\n"
        "4: GPU 'a' has no property memory; as in <prop id=\"memory\" value=\"80GiB\"/>\n"
        "4: GPU 'a' has a speed below 1 TFLOP/s, which is no GPU's; as in speed=\"989Tf\"\n");
}

TEST_CASE("half-duplex links are found where both directions use them", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") + "<link id='l' bandwidth='1GBps' latency='1us'/>\n" +
               route("a", "b", "id='l'")) ==
        "6: link 'l' is half duplex: both directions share its bandwidth; a full duplex one says "
        "sharing_policy=\"SPLITDUPLEX\"\n");
  CHECK(faults(gpu("a") + gpu("b") +
               "<link id='l' bandwidth='1GBps' latency='1us' sharing_policy='FATPIPE'/>\n" +
               route("a", "b", "id='l'")) == "");
}

TEST_CASE("a platform on which no flow slows another is told", "[faults]") {
  const std::string fat = "' bandwidth='1GBps' latency='1us' sharing_policy='FATPIPE'/>\n";
  CHECK(faults(gpu("a") + gpu("b") + "<link id='l" + fat + "<link id='m" + fat +
               route("a", "b", "id='l'/><link_ctn id='m'")) ==
        "0: all links are FATPIPE, so that no flow slows another; links that are shared say "
        "sharing_policy=\"SPLITDUPLEX\"\n");
}

TEST_CASE("GPUs that the library knows otherwise are found", "[faults]") {
  const auto one = [](const char* speed, const char* type, const char* memory) {
    return faults(
        fmt::format("<host id='a' speed='{}'><prop id='gpu' value='{}'/>"
                    "<prop id='memory' value='{}'/></host>\n",
                    speed, type, memory));
  };
  CHECK(one("312Tf", "a100-80gb", "80GiB") == "");
  CHECK_THAT(one("312Tf", "a100-800gb", "80GiB"),
             Catch::StartsWith("4: GPU 'a' is of type 'a100-800gb', which the library does not "
                               "know; it knows a100-40gb, a100-80gb, "));
  CHECK_THAT(one("312Tf", "h100-sxm", "80GiB"),
             Catch::StartsWith("4: GPU 'a' has a speed of 312 TFLOP/s, but the peak of h100-sxm"));
  CHECK(one("312Tf", "a100-80gb", "80MiB") ==
        "4: GPU 'a' has a memory of 80MiB, which is no GPU's; as in 80GiB\n");
  CHECK(one("312Tf", "a100-80gb", "0GiB") ==
        "4: GPU 'a' has a memory of 0GiB, which is no GPU's; as in 80GiB\n");
}

namespace {

// Four GPUs around a switch, the third by a link of this bandwidth and latency.
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

TEST_CASE("a link unlike the others of its class is found", "[faults]") {
  CHECK(faults(around_a_switch("200GBps", "2us")) == "");
  CHECK(faults(around_a_switch("100GBps", "1us")) == "");  // twofold, as cables in pairs are
  const auto odd = [](const std::string& bandwidth) {
    return faults(around_a_switch(bandwidth, "2us"));
  };
  CHECK(odd("200Gbps") == "10: link 'l2' has 25 GB/s, where links of class 'l' have 200\n");
  CHECK(odd("200TBps") == "10: link 'l2' has 2e+05 GB/s, where links of class 'l' have 200\n");
  CHECK_THAT(odd("200kBps"), Catch::StartsWith("10: link 'l2' carries 0.2 MB/s, less than any"));
  CHECK_THAT(odd("200"), Catch::StartsWith("10: link 'l2' carries 0.0002 MB/s"));
  CHECK_THAT(faults(around_a_switch("200GBps", "2ms")),
             Catch::StartsWith("10: link 'l2' takes 2 ms, more than any link of GPUs"));
  CHECK(faults(around_a_switch("200GBps", "0us")) ==
        "10: link 'l2' has a latency of 0 us, where links of class 'l' have 2\n");
}

TEST_CASE("uplinks are compared by what is below them", "[faults]") {
  const tests::Workplace place;
  // Three leaves of four nodes and one of one: a quarter of the uplink is as good.
  std::string text = cluster::make_platform(
      {.nodes = {{&cluster::find_node_kind("dgx-a100"), 13}}, .fabric = "leaf-spine"});
  const auto told = [&] {
    place.write("p.xml", text);
    return tests::in_child([&] {
      std::string what;
      for (const auto& fault :
           cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml")).faults)
        what += fault.what + "\n";
      return what;
    });
  };
  CHECK(told() == "");
  const std::string good = "id=\"leaf-0-up\" bandwidth=\"768GBps\"";
  REQUIRE(text.find(good) != std::string::npos);
  text.replace(text.find(good), good.size(), "id=\"leaf-0-up\" bandwidth=\"76.8GBps\"");
  CHECK(told() == "link 'leaf-0-up' has 76.8 GB/s, where links of class 'leaf-spine' have 768\n");
}

TEST_CASE("a GPU whose both ways take one direction of its link is found", "[faults]") {
  const std::string other =
      "<link id='m' bandwidth='1GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>\n";
  const auto told = [&](const std::string& far_end) {
    return faults(gpu("a") + gpu("b") + duplex + other +
                  route("a", "b",
                        "id='l' direction='UP'/><link_ctn id='m' direction='" + far_end + "'",
                        " symmetrical='NO'") +
                  route("b", "a", "id='m' direction='UP'/><link_ctn id='l' direction='DOWN'",
                        " symmetrical='NO'"));
  };
  CHECK(told("DOWN") == "");
  CHECK(told("UP") ==
        "7: link 'm_UP' carries what goes out of GPU 'b' and what comes to it; one of them takes "
        "the other direction\n");
}

TEST_CASE("a link that stands twice on a route, and a property that does, are found", "[faults]") {
  CHECK_THAT(
      faults(gpu("a") + gpu("b") + duplex +
             route("a", "b", "id='l' direction='UP'/><link_ctn id='l' direction='UP'")),
      Catch::Contains("link 'l_DOWN' (and 1 more) stands twice on the route from 'b' to 'a'"));
  CHECK(faults("<host id='a' speed='312Tf'><prop id='gpu' value='a100-80gb'/>\n"
               "<prop id='memory' value='80GiB'/><prop id='memory' value='40GiB'/></host>\n") ==
        "5: property 'memory' stands twice in host 'a'; one of them is not taken\n");
}

TEST_CASE("routes without latency are found", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") +
               "<link id='l' bandwidth='1GBps' sharing_policy='SPLITDUPLEX'/>\n" +
               route("a", "b", "id='l' direction='UP'")) ==
        "4: no latency on the route from 'a' to 'b' (and 1 more)\n");
}

TEST_CASE("a route that leads one way only is found", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") + "<link id='l' bandwidth='1GBps' latency='1us'/>\n" +
               route("a", "b", "id='l'", " symmetrical='NO'")) ==
        "3: no route leads from 'b' to 'a': zone 'z' has no <route> from 'b' to 'a'\n");
}

TEST_CASE("islands are found, and stand for the routes between them", "[faults]") {
  CHECK(
      faults(gpu("a") + gpu("b") + gpu("c") + duplex + route("a", "b", "id='l' direction='UP'")) ==
      "3: 2 islands that no route joins: 2 GPUs with 'a', 1 with 'c': zone 'z' has no <route> "
      "from 'a' to 'c'\n");
}

TEST_CASE("rails that nothing joins are no fault, one way from rail to rail that is missing is",
          "[faults]") {
  const tests::Workplace place;
  const auto told = [&](const std::string& text) {
    place.write("p.xml", text);
    return tests::in_child([&] {
      const auto report = cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml"));
      return report.faults.empty() ? std::string() : report.faults.front().what;
    });
  };
  const std::string alone = cluster::make_platform(
      {.nodes = {{&cluster::find_node_kind("dgx-h100"), 4}}, .fabric = "rail-only"});
  CHECK(told(alone).empty());
  // One link between two rails of eight: the other pairs of rails lack theirs.
  std::string joined = alone;
  const std::string one =
      "<link id=\"x\" bandwidth=\"48GBps\" latency=\"1us\"/>"
      "<zoneRoute src=\"leaf-0-0\" dst=\"leaf-0-1\" gw_src=\"leaf-0-0-switch\" "
      "gw_dst=\"leaf-0-1-switch\"><link_ctn id=\"x\"/></zoneRoute>";
  const std::string fabric = "<zone id=\"fabric\" routing=\"None\">";
  const std::size_t at = joined.find(fabric);
  REQUIRE(at != std::string::npos);
  joined.replace(at, fabric.size(), "<zone id=\"fabric\" routing=\"Full\">");
  joined.insert(joined.rfind("</zone>", joined.rfind("</zone>") - 1), one);
  CHECK_THAT(told(joined), Catch::Contains("no route leads from"));
}

TEST_CASE("one way that is missing among many GPUs is found, and all pairs that need it counted",
          "[faults]") {
  const tests::Workplace place;
  // Eight groups of two nodes.
  std::string text = cluster::make_platform({.nodes = {{&cluster::find_node_kind("dgx-h100"), 16}},
                                             .fabric = "dragonfly",
                                             .leaf_nodes = 1,
                                             .group_leaves = 2});
  const std::size_t begin = text.find("<zoneRoute src=\"group-3\" dst=\"group-6\"");
  REQUIRE(begin != std::string::npos);
  const std::string end = "</zoneRoute>";
  text.erase(begin, text.find(end, begin) + end.size() - begin);
  place.write("p.xml", text);
  const std::string told = tests::in_child([&] {
    const auto report = cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml"));
    std::string what =
        fmt::format("{} {} {}", report.pairs, report.looked_at < 1000, report.is_sampled);
    for (const auto& fault : report.faults) what += "\n" + fault.what;
    return what;
  });
  // 16 GPUs to 16, both ways.
  CHECK(told ==
        "16256 true false\nno route leads from 'node-6-gpu-0' to 'node-12-gpu-0' (and 511 more): "
        "zone 'fabric' has no <zoneRoute> from 'group-3' to 'group-6'");
}
