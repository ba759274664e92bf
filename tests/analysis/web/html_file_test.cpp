#include "analysis/web/html_file.hpp"

#include <array>

#include <catch2/catch.hpp>

#include "tests/analysis/web/unpacking.hpp"

namespace pipewright::analysis {

TEST_CASE("base64 gives the vectors of RFC 4648") {
  CHECK(base64("").empty());
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("gzip comes back and is the same each time") {
  std::string bytes;
  for (unsigned i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * i >> 7);
  CHECK(test::gunzip(gzip(bytes)) == bytes);
  CHECK(gzip(bytes) == gzip(bytes));
  CHECK(gzip(bytes).size() < bytes.size());
  CHECK(test::gunzip(gzip("")).empty());
}

TEST_CASE("a script that the program lacks is our own fault, and stands on no page") {
  CHECK_THROWS_AS(joined_scripts(std::array{"units.js", "nothing.js"}), std::logic_error);
  CHECK_THAT(joined_scripts(std::array{"units.js"}), Catch::StartsWith("(() => {"));
}

}  // namespace pipewright::analysis
