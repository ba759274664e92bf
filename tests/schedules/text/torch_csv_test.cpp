#include "schedules/text/torch_csv.hpp"

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"

using namespace pipewright::schedules;

TEST_CASE("a file has a row per rank, a cell per pass and the line ends of Python's csv", "[csv]") {
  CHECK(to_torch_csv(make_schedule("1f1b", {.devices = 2, .microbatches = 3})) ==
        "0F0,0F1,0B0,0F2,0B1,0B2\r\n"
        "1F0,1B0,1F1,1B1,1F2,1B2\r\n");
}

TEST_CASE("schedules that PyTorch's format cannot express are rejected", "[csv]") {
  CHECK_THROWS_WITH(to_torch_csv(make_schedule("1f1b-2bw", {.devices = 2, .microbatches = 3})),
                    Catch::Contains("weight version"));
  CHECK_THROWS_WITH(
      to_torch_csv(make_schedule("1f1b", {.devices = 2, .microbatches = 3, .iterations = 2})),
      Catch::Contains("holds one iteration, not 2"));
}
