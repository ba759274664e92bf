#include "sim/comm/fitted_file.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/cluster.hpp"

using namespace pipewright;
using comm::with_properties;

namespace {

const std::string head =
    "<?xml version=\"1.0\"?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<!-- <zone id=\"none\"> -->\n"
    "<platform version=\"4.1\">\n";

const std::vector<std::string> note{"fitted"};

}  // namespace

TEST_CASE("new properties are inserted first in the outermost zone, below a comment", "[fit]") {
  const std::string text = head +
                           "  <zone id=\"a\" routing=\"None\">\n"
                           "    <zone id=\"b\" routing=\"None\"/>\n"
                           "  </zone>\n</platform>\n";
  CHECK(with_properties(text, {{"collective.launch", "8us"}, {"x", "1"}}, note) ==
        head +
            "  <zone id=\"a\" routing=\"None\">\n"
            "    <!--\n"
            "    fitted\n"
            "    -->\n"
            "    <prop id=\"collective.launch\" value=\"8us\"/>\n"
            "    <prop id=\"x\" value=\"1\"/>\n"
            "    <zone id=\"b\" routing=\"None\"/>\n"
            "  </zone>\n</platform>\n");
}

TEST_CASE("values of existing properties are replaced in place", "[fit]") {
  const std::string text = head +
                           "<zone routing='Full' id='a > b'><!-- c -->\n"
                           "  <prop value = '7us'  id = 'nic.latency' ></prop>\n"
                           "  <prop id=\"kept\" value=\"nic.latency\"/>\n"
                           "  <host id=\"h\" speed=\"1f\"><prop id=\"x\" value=\"inner\"/></host>\n"
                           "</zone></platform>";
  const std::string edited = with_properties(text, {{"nic.latency", "9us"}, {"x", "2"}}, {});
  std::string expected = text;
  expected.replace(expected.find("7us"), 3, "9us");
  expected.insert(expected.find("<!-- c"), "\n  <prop id=\"x\" value=\"2\"/>");
  CHECK(edited == expected);
}

TEST_CASE("an empty zone gets an end tag, and line ends are those of the file", "[fit]") {
  CHECK(with_properties("<platform version=\"4.1\">\r\n\t<zone id=\"a\" routing=\"None\"/>\r\n"
                        "</platform>\r\n",
                        {{"x", "1"}}, note) ==
        "<platform version=\"4.1\">\r\n\t<zone id=\"a\" routing=\"None\">\r\n\t  <!--\r\n\t  "
        "fitted\r\n\t  -->\r\n\t  <prop id=\"x\" value=\"1\"/>\r\n\t</zone>\r\n</platform>\r\n");
}

TEST_CASE("a document type with declarations is skipped", "[fit]") {
  const std::string text =
      "<!DOCTYPE platform [ <!ENTITY zone \"<zone>\"> ]><platform version='4.1'>"
      "<AS id='a' routing='None'></AS></platform>";
  const std::string edited = with_properties(text, {{"x", "1"}}, note);
  CHECK(edited.find("<prop") > edited.find("<AS"));
  CHECK(edited.ends_with("/></AS></platform>"));
}

TEST_CASE("names from logs cannot end a comment or a value", "[fit]") {
  CHECK(comm::escape_comment("a-->b---c") == "a- ->b- - -c");
  CHECK(comm::escape_comment("a-") == "a- ");
  CHECK(comm::escape_comment("a\x1b[1m\n\xff") == "a\uFFFD[1m\uFFFD\uFFFD");
  CHECK(comm::escape_attribute("\"<&>\"\t") == "&quot;&lt;&amp;&gt;&quot;\uFFFD");
  const std::string edited = with_properties("<platform><zone id='a'></zone></platform>",
                                             {{"from", "--> \"/><zone>"}}, {{"-->", "<zone>"}});
  const comm::ZoneRange zone = comm::find_outermost_zone(edited);
  REQUIRE(zone.properties.size() == 1);
  CHECK(edited.substr(zone.properties[0].value_begin,
                      zone.properties[0].value_end - zone.properties[0].value_begin) ==
        "--&gt; &quot;/&gt;&lt;zone&gt;");
}

TEST_CASE("a text without a zone is rejected", "[fit]") {
  CHECK_THROWS_WITH(with_properties("<platform version=\"4.1\"/>", {}, {}),
                    Catch::Contains("has no <zone>"));
  CHECK_THROWS_WITH(with_properties("<platform version=\"4.1\"></platform>", {}, {}),
                    Catch::Contains("has no <zone>"));
}
