#include "sim/config/text/error.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace pipewright;

namespace {

struct OtherError : config::ErrorOf<OtherError> {
  using ErrorOf::ErrorOf;
};

}  // namespace

TEST_CASE("An error joins place, fault, advice and allowed values in this order") {
  const auto error = config::Error({.source = "a.yaml", .line = 3, .column = 5}, "tp is 0", "tp")
                         .allow("1 to 8")
                         .suggest("leave it out");
  CHECK(std::string(error.what()) == "a.yaml:3:5: tp is 0; leave it out; allowed: 1 to 8");
  CHECK(error.found() == "tp is 0");
  CHECK(error.allowed() == "1 to 8");
  CHECK(error.suggestion() == "leave it out");
  CHECK_FALSE(error.suggests_name());
  CHECK(error.message() == "tp is 0; leave it out; allowed: 1 to 8");
}

TEST_CASE("A suggested name is asked for, and an empty name is ignored") {
  CHECK(config::Error("engine is x").suggest_name("y").allow("y, z").message() ==
        "engine is x; did you mean 'y'? allowed: y, z");
  CHECK(config::Error("engine is x").suggest_name("").allow("y, z").message() ==
        "engine is x; allowed: y, z");
}

TEST_CASE("A place without a column names the line alone") {
  CHECK(to_string(config::Origin{.source = "a.csv", .line = 3}) == "a.csv:3");
  CHECK(to_string(config::Origin{.source = "a.csv"}) == "a.csv");
  CHECK(to_string(config::Origin{}).empty());
}

TEST_CASE("An error keeps its own type when parts are added in a throw expression") {
  CHECK_THROWS_AS(throw OtherError("x").allow("y").suggest("z"), OtherError);
  CHECK_THROWS_AS(throw OtherError("x").at({.source = "a"}), OtherError);
  CHECK_THROWS_AS(throw OtherError("x").within({.source = "a"}, "b"), OtherError);
}

TEST_CASE("An error without a place gets one, and an error with a place keeps its own") {
  const config::Origin place{.source = "a.csv", .line = 3};
  CHECK(std::string(config::Error("x").allow("y").at(place).what()) == "a.csv:3: x; allowed: y");
  CHECK(std::string(config::Error({.source = "b"}, "x").at(place).what()) == "b: x");
}
