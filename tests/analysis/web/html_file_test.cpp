#include "analysis/web/html_file.hpp"

#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "tests/analysis/web/unpacking.hpp"

namespace pipewright::analysis {

TEST_CASE("base64 encodes the test vectors of RFC 4648") {
  CHECK(base64("").empty());
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("gzip is reversible and deterministic") {
  std::string bytes;
  for (unsigned i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * i >> 7);
  CHECK(test::gunzip(gzip(bytes)) == bytes);
  CHECK(gzip(bytes) == gzip(bytes));
  CHECK(gzip(bytes).size() < bytes.size());
  CHECK(test::gunzip(gzip("")).empty());
}

TEST_CASE("a bundle has each module once, after the modules that it imports") {
  const std::string script = bundled_script("page.js");
  CHECK_THAT(script, Catch::StartsWith("(() => {\n\"use strict\";\n"));
  const auto begin_of = [&](const std::string& name) {
    const std::string begin = "const module_" + name + " = (() => {\n";
    const std::size_t position = script.find(begin);
    REQUIRE(position != std::string::npos);
    CHECK(script.find(begin, position + 1) == std::string::npos);
    return position;
  };
  CHECK(begin_of("units") < begin_of("elements"));
  CHECK(begin_of("elements") < begin_of("timeline"));
  CHECK(begin_of("timeline") < begin_of("page"));
  CHECK(script.find("\nimport ") == std::string::npos);
  CHECK(script.find("\nexport ") == std::string::npos);
}

TEST_CASE("a module returns its exports and binds its imports") {
  const std::string script = bundled_script("compare.js");
  CHECK_THAT(script, Catch::Contains("const { listenToTheme } = module_theme;\n"));
  CHECK_THAT(script, Catch::Contains("\nfunction listenToTheme("));
  CHECK_THAT(script, Catch::Contains(", listenToTheme, "));
}

TEST_CASE("bundling a script that the program lacks is a logic error") {
  CHECK_THROWS_AS(bundled_script("nothing.js"), std::logic_error);
}

}  // namespace pipewright::analysis
