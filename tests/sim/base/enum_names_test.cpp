#include "sim/base/enum_names.hpp"

#include <array>
#include <stdexcept>

#include <catch2/catch.hpp>

using pipewright::base::name_of;
using pipewright::base::value_of;

namespace {

enum class Colour { red, green, blue };
constexpr std::array<std::string_view, 2> colour_names{"red", "green"};  // blue has no name

}  // namespace

TEST_CASE("the name of an enumeration's value leads back to the value", "[base]") {
  CHECK(name_of(colour_names, Colour::green) == "green");
  CHECK(value_of<Colour>(colour_names, "green") == Colour::green);
}

TEST_CASE("an unknown name has no value, and a value without a name is an error", "[base]") {
  CHECK_FALSE(value_of<Colour>(colour_names, "gree"));
  CHECK_FALSE(value_of<Colour>(colour_names, ""));
  CHECK_THROWS_AS(name_of(colour_names, Colour::blue), std::out_of_range);
}
