#include "sim/comm/disagreement.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using analysis::Measurement;

namespace {

// Adds measurements of `count` sizes from 1 KiB on, whose times are proportional to `times`.
void add(std::vector<Measurement>& rows, const std::string& file, std::size_t count, double times,
         std::uint32_t ranks = 8) {
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back({.ranks = ranks,
                    .bytes = std::uint64_t{1024} << i,
                    .seconds = times * 1e-6 * static_cast<double>(i + 1),
                    .file = file});
}

}  // namespace

TEST_CASE("logs of the same operation with different times disagree", "[fit]") {
  std::vector<Measurement> rows;
  add(rows, "may.log", 6, 1.5);
  add(rows, "june.log", 8, 1);
  const auto disagreement = comm::find_disagreement(rows);
  REQUIRE(disagreement);
  CHECK(disagreement->faster == "june.log");
  CHECK(disagreement->slower == "may.log");
  CHECK(disagreement->rows == 6);
  CHECK(disagreement->ratio == Approx(1.5));
}

TEST_CASE("logs do not disagree if they repeat each other, share few rows, or have different ranks",
          "[fit]") {
  std::vector<Measurement> rows;
  add(rows, "a.log", 8, 1);
  add(rows, "b.log", 8, 1.2);
  add(rows, "c.log", 3, 5);
  add(rows, "d.log", 8, 5, 16);
  CHECK_FALSE(comm::find_disagreement(rows));
}
