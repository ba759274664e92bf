#include "analysis/timeline/text.hpp"

#include <catch2/catch.hpp>

namespace pipewright::analysis {

TEST_CASE("text that can be drawn stays as it is") {
  CHECK(drawable("node-0-gpu-3") == "node-0-gpu-3");
  CHECK(drawable("K\u00f6ln \u20ac \U0001F600") == "K\u00f6ln \u20ac \U0001F600");
}

TEST_CASE("bytes that are no UTF-8 and control characters are replaced one by one") {
  CHECK(drawable("a\nb\x7f") == "a\uFFFDb\uFFFD");
  CHECK(drawable("\xff\xfe") == "\uFFFD\uFFFD");
  CHECK(drawable("\xc3") == "\uFFFD");                                // cut off
  CHECK(drawable("\xc0\xaf") == "\uFFFD\uFFFD");                      // overlong
  CHECK(drawable("\xed\xa0\x80") == "\uFFFD\uFFFD\uFFFD");            // surrogate
  CHECK(drawable("\xf4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
}

TEST_CASE("characters are dropped whole") {
  std::string text = "ab\u20ac";
  drop_last_character(text);
  CHECK(text == "ab");
  drop_last_character(text);
  drop_last_character(text);
  drop_last_character(text);
  CHECK(text.empty());
}

}  // namespace pipewright::analysis
