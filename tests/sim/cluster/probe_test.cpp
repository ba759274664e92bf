#include "sim/cluster/simgrid/probe.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/cluster.hpp"
#include "support/program.hpp"

using namespace pipewright;
using cluster::Cluster;

TEST_CASE("faults at which SimGrid ends the process are reported as errors", "[cluster]") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Full'><host id='h' speed='1Gf'/>"
              "<storage id='s' typeId='t' attach='h'/></zone></platform>\n");
  const tests::ProgramResult ran = place.run("platform show ./p.xml");
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::StartsWith("pipewright: ./p.xml:3: SimGrid cannot load the file: "));
}

TEST_CASE("faults at which SimGrid ends the process during route queries are reported as errors",
          "[cluster]") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Vivaldi'>"
              "<zone id='x' routing='Full'><host id='a' speed='1Tf'/></zone>"
              "<zone id='y' routing='Full'><host id='b' speed='1Tf'/></zone></zone></platform>\n");
  CHECK_THROWS_WITH(Cluster::load(place.folder() / "p.xml"),
                    Catch::EndsWith("SimGrid cannot load the file: Please specify the Vivaldi "
                                    "coordinates of Netzone x"));
}

TEST_CASE("a file that SimGrid cannot load is reported with the line where SimGrid stopped",
          "[cluster]") {
  const tests::CommandFolder place;
  const auto complaint = [&](const std::string& content) -> std::string {
    place.write("p.xml",
                "<?xml version='1.0'?>\n"
                "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                "<platform version=\"4.1\"><zone id='z' routing='Full'>\n" +
                    content + "</zone></platform>\n");
    try {
      Cluster::load(place.folder() / "p.xml");
    } catch (const cluster::Error& error) {
      const std::string message = error.what();
      return message.substr(message.find("p.xml"));
    }
    return "";
  };
  CHECK_THAT(
      complaint("\n<cluster id='c' prefix='h-' suffix='' radical='0-7' speed='1Tf' bw='1GBps' "
                "lat='1us' topology='DRAGONFLY' topo_parameters='3,4'/>"),
      Catch::StartsWith("p.xml:5: SimGrid cannot load the file: Dragonfly"));
  CHECK_THAT(complaint("<host id='a' speed='1Tf'><prop id='memory' value='80 gigs'/></host>"),
             Catch::StartsWith("p.xml:4: host 'a': property memory is 80 gigs"));
}

TEST_CASE("an invalid NIC latency is reported with the NIC's line", "[cluster]") {
  const tests::CommandFolder place;
  place.write(
      "p.xml",
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='z' routing='Full'>\n"
      "<host id='a' speed='1Tf'><prop id='gpu' value='x'/><prop id='nic' value='n'/></host>\n"
      "<host id='n' speed='1f'><prop id='latency' value='-5us'/></host></zone></platform>\n");
  CHECK_THROWS_WITH(Cluster::load(place.folder() / "p.xml"),
                    Catch::Contains("p.xml:5: host 'n': property latency is -5us"));
}

TEST_CASE("SimGrid's messages are reported with the file's name and line", "[cluster]") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Full'>\n"
              "<host id='a' speed='1Tf,2Gx'/></zone></platform>\n");
  CHECK_THROWS_WITH(Cluster::load(place.folder() / "p.xml"),
                    Catch::Contains("p.xml:4: ") && Catch::Contains("Gx"));
}
