#include "analysis/report/text_table.hpp"

#include <catch2/catch.hpp>

using namespace pipewright::analysis;

TEST_CASE("a table aligns names to the left and numbers to the right", "[report]") {
  TextTable table;
  table.add_names("name", {"a", "ünïcode"});
  table.add_numbers({"time", "ms"}, {"1.5", "100.0"});
  table.add_numbers({"n"}, {"7"});
  CHECK(table.text() ==
        "          time\n"
        "name        ms  n\n"
        "a          1.5  7\n"
        "ünïcode  100.0\n");
}

TEST_CASE("a table that is too wide has smaller gaps", "[report]") {
  TextTable table;
  table.add_names("a", {"x"});
  table.add_numbers({"b"}, {"1"});
  CHECK(table.text(4) == "a  b\nx  1\n");
  CHECK(table.text(3) == "a b\nx 1\n");
}

TEST_CASE("control characters in names are escaped", "[report]") {
  CHECK(printable("two\nlines\tand \x1b[31mred\x7f") == "two\\nlines\\tand \\x1b[31mred\\x7f");
  CHECK(printable("Süd") == "Süd");
}

TEST_CASE("drawable text is unchanged", "[report]") {
  CHECK(drawable("node-0-gpu-3") == "node-0-gpu-3");
  CHECK(drawable("K\u00f6ln \u20ac \U0001F600") == "K\u00f6ln \u20ac \U0001F600");
}

TEST_CASE("invalid UTF-8 and control characters are replaced byte by byte", "[report]") {
  CHECK(drawable("a\nb\x7f") == "a\uFFFDb\uFFFD");
  CHECK(drawable("\xff\xfe") == "\uFFFD\uFFFD");
  CHECK(drawable("\xc3") == "\uFFFD");                                // cut off
  CHECK(drawable("\xc0\xaf") == "\uFFFD\uFFFD");                      // overlong
  CHECK(drawable("\xed\xa0\x80") == "\uFFFD\uFFFD\uFFFD");            // surrogate
  CHECK(drawable("\xf4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
}

TEST_CASE("dropping the last character removes all of its bytes", "[report]") {
  std::string text = "ab\u20ac";
  drop_last_character(text);
  CHECK(text == "ab");
  drop_last_character(text);
  drop_last_character(text);
  drop_last_character(text);
  CHECK(text.empty());
}

TEST_CASE("texts are folded at blanks, and long words stay whole") {
  using Lines = std::vector<std::string>;
  CHECK(folded("a bc def", 4, 3) == Lines{"a bc", "def"});
  CHECK(folded("a bc def", 3, 3) == Lines{"a", "bc", "def"});
  CHECK(folded("abcdef gh", 3, 3) == Lines{"abcdef", "gh"});
  CHECK(folded("abcdef", 3, 3) == Lines{"abcdef"});
  CHECK(folded("", 3, 3).empty());
}
