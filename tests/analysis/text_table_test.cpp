#include "analysis/text_table.hpp"

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

TEST_CASE("a table that gets too wide moves together", "[report]") {
  TextTable table;
  table.add_names("a", {"x"});
  table.add_numbers({"b"}, {"1"});
  CHECK(table.text(4) == "a  b\nx  1\n");
  CHECK(table.text(3) == "a b\nx 1\n");
}

TEST_CASE("names cannot move the cursor", "[report]") {
  CHECK(printable("two\nlines\tand \x1b[31mred\x7f") == "two\\nlines\\tand \\x1b[31mred\\x7f");
  CHECK(printable("Süd") == "Süd");
}
