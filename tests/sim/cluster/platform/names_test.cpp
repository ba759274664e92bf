#include "sim/cluster/platform/names.hpp"

#include <catch2/catch.hpp>

using namespace pipewright::cluster;
using Names = std::vector<std::string>;

TEST_CASE("ranges in brackets expand to several names", "[names]") {
  CHECK(*expand_names("a") == Names{"a"});
  CHECK(*expand_names("a-[0-2] b") == Names{"a-0", "a-1", "a-2", "b"});
  CHECK(*expand_names("a-[1,3]-x") == Names{"a-1-x", "a-3-x"});
  CHECK(expand_names("")->empty());
  for (const char* wrong : {"a-[0", "a-[]", "a-[2-1]", "a-[x]", "a-[0-]"})
    CHECK_FALSE(expand_names(wrong));
}

TEST_CASE("a radical consists of numbers and ranges", "[names]") {
  CHECK(*parse_radical("0-2,7") == std::vector<int>{0, 1, 2, 7});
  for (const char* wrong : {"", "-1", "1-", "1,,2", "3-2", "a"}) CHECK_FALSE(parse_radical(wrong));
}

TEST_CASE("a link's class is its name without numbers and direction", "[names]") {
  CHECK(without_numbers("node-0-nvlink-7_UP") == "node-nvlink");
  CHECK(without_numbers("fabric") == "fabric");
  CHECK(without_numbers("12") == "12");
  CHECK(without_direction("up_DOWN") == "up");
}

TEST_CASE("names are ordered by their numbers", "[names]") {
  CHECK(natural_less("node-2", "node-10"));
  CHECK_FALSE(natural_less("node-10", "node-2"));
}
