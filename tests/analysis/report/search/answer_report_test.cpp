#include "analysis/report/search/answer_report.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace pipewright::analysis;

namespace {

AnswerReport answer() {
  AnswerReport report;
  report.add_heading("how sure?", "2 candidates");
  report.add_long_item(std::string(60, 'a') + " " + std::string(60, 'b'));
  report.add_numbered_item("tp 1");
  report.add_numbered_item("tp 2");
  TextTable table;
  table.add_numbers({"planned", "%"}, {"1.5", "20.0"});
  report.add_table(table);
  report.add_sentence("no tie");
  report.add_heading("changes");
  report.add_item("7 % behind", {"+8 % bubble, -1 % compute", "less memory"});
  return report;
}

}  // namespace

TEST_CASE("a terminal shows an answer as lines", "[winner]") {
  CHECK(answer().text() ==
        "how sure? 2 candidates\n"
        "  " +
            std::string(60, 'a') +
            "\n"
            "    " +
            std::string(60, 'b') +
            "\n"
            "  1  tp 1\n"
            "  2  tp 2\n"
            "\n"
            "planned\n"
            "      %\n"
            "    1.5\n"
            "   20.0\n"
            "no tie\n"
            "\n"
            "changes\n"
            "  7 % behind\n"
            "    +8 % bubble, -1 % compute\n"
            "    less memory\n");
}

TEST_CASE("the page gets the parts of an answer without line breaks", "[winner]") {
  const Json parts = answer().json();
  REQUIRE(parts.size() == 9);
  CHECK(parts[0] == Json{{"kind", "heading"}, {"text", "how sure?"}});
  CHECK(parts[1] == Json{{"kind", "sentence"}, {"text", "2 candidates"}});
  CHECK(parts[2]["text"] == std::string(60, 'a') + " " + std::string(60, 'b'));
  CHECK(parts[3] == Json{{"kind", "numbered item"}, {"text", "tp 1"}});
  CHECK(parts[5]["headings"] == Json::array({"planned %"}));
  CHECK(parts[5]["rows"] == Json::array({Json::array({"1.5"}), Json::array({"20.0"})}));
  CHECK(parts[8]["kind"] == "item");
  CHECK(parts[8]["details"] == Json::array({"+8 % bubble, -1 % compute", "less memory"}));
}

TEST_CASE("a list of a long line breaks after commas", "[winner]") {
  AnswerReport report;
  report.add_item("behind", {std::string(50, 'a') + ", " + std::string(50, 'b')});
  CHECK(report.text() ==
        "  behind\n    " + std::string(50, 'a') + ",\n    " + std::string(50, 'b') + "\n");
}

TEST_CASE("a table without headings has no line for them", "[winner]") {
  AnswerReport report;
  report.add_heading("counts");
  TextTable table;
  table.add_numbers({}, {"12"});
  table.add_names("", {"simulated"});
  report.add_table(table);
  CHECK(report.text() == "counts\n12  simulated\n");
  CHECK(report.json()[1]["headings"] == Json::array({"", ""}));
}

TEST_CASE("an answer without parts is empty", "[winner]") {
  CHECK(AnswerReport().text().empty());
  CHECK(AnswerReport().json().empty());
}

TEST_CASE("an answer keeps the lines of a script", "[winner]") {
  AnswerReport report;
  report.add_script("Megatron-LM", "#!/bin/bash\ntorchrun \\\n  train.py\n");
  CHECK(report.text() == "Megatron-LM\n#!/bin/bash\ntorchrun \\\n  train.py\n");
  CHECK(report.json() == Json::array({{{"kind", "script"},
                                       {"text", "Megatron-LM"},
                                       {"script", "#!/bin/bash\ntorchrun \\\n  train.py\n"}}}));
}
