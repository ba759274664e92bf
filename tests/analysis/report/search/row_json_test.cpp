#include "analysis/report/search/row_json.hpp"

#include <limits>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/report/search/search_runs.hpp"
#include "analysis/trace/error.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;
using Catch::Matchers::Contains;

TEST_CASE("a row of a search reads back to the last bit") {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const CandidateRow row = random_row(seed);
    const std::string line = to_json_line(row);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(same(row, row_of_json(line)));
    // The coordinator parses the JSON of a worker's result and writes it again, which must not
    // change the row.
    CHECK(same(row, row_of_json(nlohmann::json::parse(line).dump())));
  }
}

TEST_CASE("a note may contain any bytes") {
  for (const std::string& note :
       {std::string("a\0b\0", 4), std::string("\xff\xfe\x80\xc3"), std::string("\xc3\xa9t\xc3\xa9"),
        std::string("\"\\\n\x1b[31m"), std::string("\xed\xa0\x80 half a pair")}) {
    CandidateRow row;
    row.note = note;
    CHECK(row_of_json(to_json_line(row)).note == note);
  }
}

TEST_CASE("a row omits unknown figures") {
  CandidateRow row;
  row.candidate = 7;
  row.group = 1;
  row.outcome = Outcome::illegal;
  row.note = "no";
  CHECK(to_json_line(row) == R"({"candidate":7,"group":1,"outcome":"illegal","note":"no"})");
  row.bound_s = 0.1;
  row.peak_bytes = 5;
  CHECK_THAT(to_json_line(row), Contains(R"("peak_bytes":5,"bound_s":0.1})"));
  row.evidence = {"b200", {"flops", "clock"}};
  CHECK_THAT(to_json_line(row),
             Contains(R"("bound_s":0.1,"evidence":{"expected_error":null,"assumed":["flops",)"
                      R"("clock"],"assumed_gpu":"b200"}})"));
  row.evidence.gpu = "a\xff";
  CHECK(row_of_json(to_json_line(row)).evidence.gpu == "a\xEF\xBF\xBD");
}

TEST_CASE("figures that are not finite are refused") {
  CandidateRow row;
  row.bound_s = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(to_json_line(row), std::logic_error);
  row.bound_s = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(to_json_line(row), std::logic_error);
}

TEST_CASE("an invalid row is refused with the reason") {
  const auto refused = [](const std::string& line, const std::string& why) {
    CHECK_THROWS_MATCHES(row_of_json(line), pipewright::trace::TraceError,
                         Catch::Matchers::Message("not a valid row of a search: " + why));
  };
  refused(R"({"candidate":-1,"outcome":"open"})", "-1 is not a valid count");
  refused(R"({"candidate":1.5,"outcome":"open"})", "1.5 is not a valid count");
  refused(R"({"candidate":1,"group":4294967296,"outcome":"open"})",
          "4294967296 is not a valid count");
  refused(R"({"candidate":1,"outcome":"well"})", "'well' is not an outcome");
  refused(R"({"candidate":1,"outcome":"open","bound_s":"2"})", "\"2\" is not a number");
  refused(R"({"candidate":1,"outcome":"open","bonus":2})", "'bonus' is not a field of a row");
  refused(R"({"candidate":1,"outcome":"open","note_latin1":"\u0100"})",
          "the note has a character above U+00FF");
  for (const char* line :
       {"", "{", "[]", "7", "{}", R"({"candidate":1})", R"({"outcome":"open"})",
        R"({"candidate":1,"outcome":2})", R"({"candidate":1,"outcome":"open"} x)",
        R"({"candidate":1,"outcome":"open","bound_s":1e999})",
        R"({"candidate":1,"outcome":"open","note":7})"})
    CHECK_THROWS_AS(row_of_json(line), pipewright::trace::TraceError);
}
