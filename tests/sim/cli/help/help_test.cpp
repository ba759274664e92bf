#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "sim/cli/help/topics.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

TEST_CASE("help lists each topic with the question that its page answers", "[cli]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run("help");
  CHECK(ran.status == 0);
  for (const cli::Topic& topic : cli::topics()) {
    const std::string asked = cli::question(cli::embedded_page(topic.path));
    CAPTURE(topic.name);
    CHECK(asked.ends_with('?'));
    CHECK_THAT(ran.out, Catch::Contains("  " + std::string(topic.name) + " "));
    CHECK_THAT(ran.out, Catch::Contains("  " + asked + "\n"));
  }
}

TEST_CASE("every page of docs is a topic with its name", "[cli]") {
  for (const auto& entry : std::filesystem::directory_iterator(PIPEWRIGHT_ROOT "/docs")) {
    if (entry.path().extension() != ".md") continue;
    const std::string name = entry.path().stem();
    CAPTURE(name);
    CHECK(cli::link_name(name + ".md") == "help " + name);
    CHECK_FALSE(cli::embedded_page("docs/" + name + ".md").empty());
  }
}

TEST_CASE("help prints a topic without Markdown markup", "[cli]") {
  const tests::CommandFolder place;
  for (const cli::Topic& topic : cli::topics()) {
    const tests::ProgramResult ran = place.run("help " + std::string(topic.name));
    CAPTURE(topic.name, ran.err);
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out, Catch::Contains("\n=====") || Catch::Contains("\n----"));
    CHECK_THAT(ran.out, !Catch::Contains("```") && !Catch::Contains("](") &&
                            !Catch::Contains("<!--") && !Catch::Contains("|---"));
  }
}

TEST_CASE("help COMMAND prints the same as COMMAND --help", "[cli]") {
  const tests::CommandFolder place;
  CHECK(place.run("help run").out == place.run("run --help").out);
  CHECK(place.run("help schedule list").out == place.run("schedule list --help").out);
}

TEST_CASE("an unknown topic is refused with a suggestion and all topics", "[cli]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run("help shedules");
  CHECK(ran.status == 2);
  CHECK(ran.out.empty());
  CHECK_THAT(ran.err, Catch::Contains("no topic is called 'shedules'; did you mean 'schedules'?"));
  for (const cli::Topic& topic : cli::topics())
    CHECK_THAT(ran.err, Catch::Contains(std::string(topic.name)));
  CHECK(place.run("help metrics twice").status == 2);
}

TEST_CASE("Markdown becomes text for a terminal", "[cli]") {
  const std::string page =
      "# A title\n\n"
      "Some **bold** words and `code **as** it is`, filled to the width that\nis asked for.\n\n"
      "<!-- file: x.yaml -->\n```yaml\nkey: 1\n\nother: 2\n```\n"
      "- an item that needs more than one line\n  here\n1. a number\n\n"
      "## Below\n\n"
      "| name | means |\n|---|---:|\n| `a \\| b` | a long text that goes on below |\n| c | |\n\n"
      "[search](search.md#x), [sums](../analysis/metrics.md), [here](#a-title),\n"
      "[web](https://a.b), [main](../sim/main.cpp), ![a curve](a.png)\n";
  CHECK(cli::markdown_text(page, 40) ==
        "A title\n=======\n\n"
        "Some bold words and `code **as** it is`,\nfilled to the width that is asked for.\n\n"
        "    key: 1\n\n    other: 2\n"
        "- an item that needs more than one line\n  here\n1. a number\n\n"
        "Below\n-----\n\n"
        "name      means\n`a \\| b`  a long text that goes on below\nc\n\n"
        "search (help search), sums (help\nmetrics), here, web (https://a.b), main\n"
        "(sim/main.cpp), [picture: a curve]\n");
}

TEST_CASE("links name topics, files from the root, or web addresses", "[cli]") {
  CHECK(cli::link_name("schedules.md") == "help schedules");
  CHECK(cli::link_name("../docs/schedules.md#blocks") == "help schedules");
  CHECK(cli::link_name("trace/format.md") == "help trace-format");
  CHECK(cli::link_name("../analysis/report/search/format.md") == "help results-format");
  CHECK(cli::link_name("../platforms/README.md") == "help platforms");
  CHECK(cli::link_name("../README.md") == "README.md");
  CHECK(cli::link_name("../examples/read_trace.py") == "examples/read_trace.py");
  CHECK(cli::link_name("#gpus").empty());
}
