#include "sim/cluster/platform_file.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/cluster.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

// What reading a platform of this text answers, without the folder's name.
std::string complaint(const std::string& text) {
  const tests::Workplace place;
  place.write("p.xml", text);
  try {
    cluster::read_platform_file(place.folder() / "p.xml");
  } catch (const cluster::Error& error) {
    const std::string what = error.what();
    return what.substr(what.find("p.xml"));
  }
  return "";
}

std::string platform(const std::string& inside) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         inside + "\n</platform>\n";
}

}  // namespace

TEST_CASE("what SimGrid would die of is told with file and line", "[platform]") {
  CHECK(complaint("") == "p.xml:1: No document element found");
  CHECK_THAT(complaint(platform("<zone id='a' routing='Full'>")), Catch::StartsWith("p.xml:5: "));
  CHECK(complaint("<clusters/>") ==
        "p.xml: has no <platform>; a SimGrid platform file was expected");
  CHECK_THAT(complaint(platform("<zone id='a' routing='Fool'/>")),
             Catch::StartsWith("p.xml:4: routing 'Fool' is unknown; there are Full, "));
  CHECK(complaint(platform("<zone id='a' routing='Full'>\n<link id='l' bandwidth='1GBps' "
                           "latency='-1us'/></zone>")) ==
        "p.xml:5: latency '-1us' of link 'l' must be finite and >= 0");
  CHECK(
      complaint(platform("<zone id='a' routing='Full'><link id='l' bandwidth='0GBps'/></zone>")) ==
      "p.xml:4: bandwidth '0GBps' of link 'l' must be finite and > 0");
  CHECK(complaint(platform("<zone id='a' routing='Full'><host id='h' speed='0f'/></zone>")) ==
        "p.xml:4: speed '0f' of host 'h' must be finite and > 0");
}

TEST_CASE("no file, or a folder, is no platform", "[platform]") {
  const tests::Workplace place;
  CHECK_THROWS_WITH(cluster::read_platform_file(place.folder() / "none.xml"),
                    Catch::EndsWith("none.xml: no such platform file"));
  CHECK_THROWS_WITH(cluster::read_platform_file(place.folder()),
                    Catch::EndsWith("a SimGrid platform file (XML) was expected"));
}
