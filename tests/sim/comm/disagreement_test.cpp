#include "sim/comm/disagreement.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using analysis::Measurement;

namespace {

// Sizes from 1 KiB up, each in so many times its number of nanoseconds.
void add(std::vector<Measurement>& rows, const std::string& file, std::size_t count, double times,
         std::uint32_t ranks = 8) {
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back({.ranks = ranks,
                    .bytes = std::uint64_t{1024} << i,
                    .seconds = times * 1e-6 * static_cast<double>(i + 1),
                    .file = file});
}

}  // namespace

TEST_CASE("logs of the same operation that take unlike times are of two machines", "[fit]") {
  std::vector<Measurement> rows;
  add(rows, "may.log", 6, 1.5);
  add(rows, "june.log", 8, 1);
  const auto found = comm::disagreement(rows);
  REQUIRE(found);
  CHECK(found->one == "june.log");
  CHECK(found->other == "may.log");
  CHECK(found->rows == 6);
  CHECK(found->ratio == Approx(1.5));
}

TEST_CASE("logs agree that repeat each other, have few rows in common, or are of other ranks",
          "[fit]") {
  std::vector<Measurement> rows;
  add(rows, "a.log", 8, 1);
  add(rows, "b.log", 8, 1.2);
  add(rows, "c.log", 3, 5);
  add(rows, "d.log", 8, 5, 16);
  CHECK_FALSE(comm::disagreement(rows));
}
