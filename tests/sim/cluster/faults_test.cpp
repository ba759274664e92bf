#include "sim/cluster/faults.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "support/program.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;

namespace {

// The faults of a Full zone with this in it, one a line.
std::string faults(const std::string& inside) {
  const tests::Workplace place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Full'>\n" +
                  inside + "</zone></platform>\n");
  return tests::in_child([&] {
    std::string text;
    for (const cluster::Fault& fault :
         cluster::find_faults(cluster::Cluster::load(place.folder() / "p.xml")))
      text += fmt::format("{}: {}\n", fault.line, fault.what);
    return text;
  });
}

std::string gpu(const std::string& name) {
  return "<host id='" + name +
         "' speed='1Tf'><prop id='gpu' value='x'/><prop id='memory' value='1GiB'/></host>\n";
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

TEST_CASE("routes without latency are found", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") +
               "<link id='l' bandwidth='1GBps' sharing_policy='SPLITDUPLEX'/>\n" +
               route("a", "b", "id='l' direction='UP'")) ==
        "4: no latency on the route from 'a' to 'b' (and 1 more)\n");
}

TEST_CASE("a route that leads one way only is found", "[faults]") {
  CHECK(faults(gpu("a") + gpu("b") + "<link id='l' bandwidth='1GBps' latency='1us'/>\n" +
               route("a", "b", "id='l'", " symmetrical='NO'")) ==
        "5: no route leads from 'b' to 'a'\n");
}

TEST_CASE("islands are found, and stand for the routes between them", "[faults]") {
  CHECK(
      faults(gpu("a") + gpu("b") + gpu("c") + duplex + route("a", "b", "id='l' direction='UP'")) ==
      "6: 2 islands that no route joins: 2 GPUs with 'a', 1 with 'c'\n");
}
