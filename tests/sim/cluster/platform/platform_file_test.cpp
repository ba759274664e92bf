#include "sim/cluster/platform/platform_file.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/cluster.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

// Returns the error message of reading a platform file with this text, without the directory.
std::string complaint(const std::string& text) {
  const tests::CommandFolder place;
  place.write("p.xml", text);
  try {
    cluster::read_platform_file(place.folder() / "p.xml");
  } catch (const cluster::Error& error) {
    const std::string message = error.what();
    return message.substr(message.find("p.xml"));
  }
  return "";
}

std::string platform(const std::string& content) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         content + "\n</platform>\n";
}

}  // namespace

TEST_CASE("faults at which SimGrid would exit are reported with file and line", "[platform]") {
  CHECK(complaint("") == "p.xml:1: No document element found");
  CHECK_THAT(complaint(platform("<zone id='a' routing='Full'>")), Catch::StartsWith("p.xml:5: "));
  CHECK(complaint("<clusters/>") ==
        "p.xml: has no <platform> element; a SimGrid platform file was expected");
  CHECK_THAT(complaint(platform("<zone id='a' routing='Fool'/>")),
             Catch::StartsWith("p.xml:4: routing 'Fool' is unknown; choose from Full, "));
  CHECK(complaint(platform("<zone id='a' routing='Full'>\n<link id='l' bandwidth='1GBps' "
                           "latency='-1us'/></zone>")) ==
        "p.xml:5: latency '-1us' of link 'l' must be finite and >= 0");
  CHECK(
      complaint(platform("<zone id='a' routing='Full'><link id='l' bandwidth='0GBps'/></zone>")) ==
      "p.xml:4: bandwidth '0GBps' of link 'l' must be finite and > 0");
  CHECK(complaint(platform("<zone id='a' routing='Full'><host id='h' speed='0f'/></zone>")) ==
        "p.xml:4: speed '0f' of host 'h' must be finite and > 0");
}

TEST_CASE("hosts, links and latencies that change during a run are rejected", "[platform]") {
  const auto content = [](const std::string& text) {
    return complaint(platform("<zone id='a' routing='Full'>\n" + text + "</zone>"));
  };
  CHECK(content("<host id='h' speed='1Tf' state_file='f'/>") ==
        "p.xml:5: host 'h' has a state_file, which changes it during a run; remove it: a run has "
        "no failing GPUs");
  CHECK_THAT(
      content("<link id='l' bandwidth='1GBps' state_file='f'/>"),
      Catch::StartsWith("p.xml:5: link 'l' has a state_file") && Catch::Contains("slow_links"));
  CHECK_THAT(content("<link id='l' bandwidth='1GBps' latency_file='f'/>"),
             Catch::StartsWith("p.xml:5: link 'l' has a latency_file"));
  CHECK_THAT(complaint(platform("<zone id='a' routing='Full'/>\n"
                                "<trace_connect kind='LINK_AVAIL' trace='t' element='l'/>")),
             Catch::StartsWith("p.xml:5: trace_connect changes 'l' (kind LINK_AVAIL)"));
  CHECK(content("<link id='l' bandwidth='1GBps' bandwidth_file='f'/>") == "");
}

TEST_CASE("Wi-Fi is rejected", "[platform]") {
  CHECK_THAT(
      complaint(platform("<zone id='a' routing='Full'>\n<zone id='w' routing='WIFI'/></zone>")),
      Catch::StartsWith("p.xml:5: zone 'w' is Wi-Fi") && Catch::Contains("SPLITDUPLEX"));
  CHECK_THAT(complaint(platform("<zone id='a' routing='Full'>\n"
                                "<link id='l' bandwidth='1GBps' sharing_policy='WIFI'/></zone>")),
             Catch::StartsWith("p.xml:5: link 'l' is Wi-Fi"));
}

TEST_CASE("elements that are not allowed are reported with their line", "[platform]") {
  CHECK(
      complaint(platform("<zone id='a' routing='Full'/>\n<zone id='b' routing='Full'/>")) ==
      "p.xml:5: zone 'b' follows 'a' in <platform>, which allows only one; put both into one zone");
  CHECK_THAT(complaint(platform("<config id='c'>\n<prop id='network/latency-factor' value='10'/>"
                                "</config><zone id='a' routing='Full'/>")),
             Catch::StartsWith("p.xml:5: <config> sets network/latency-factor"));
  CHECK_THAT(complaint(platform("<cluster id='c' topology='TORUS' topo_parameters='a,b'/>")),
             Catch::StartsWith("p.xml:4: topo_parameters 'a,b' of cluster 'c' must be whole"));
  std::string nested;
  for (int i = 0; i < 20'000; ++i) nested += fmt::format("<zone id='{}' routing='Full'>\n", i);
  for (int i = 0; i < 20'000; ++i) nested += "</zone>";
  CHECK_THAT(complaint(platform(nested)), Catch::Contains("is nested more than 100 levels deep"));
}

TEST_CASE("missing files and directories are rejected", "[platform]") {
  const tests::CommandFolder place;
  CHECK_THROWS_WITH(cluster::read_platform_file(place.folder() / "none.xml"),
                    Catch::EndsWith("none.xml: no such platform file"));
  CHECK_THROWS_WITH(cluster::read_platform_file(place.folder()),
                    Catch::EndsWith("a SimGrid platform file (XML) was expected"));
}
