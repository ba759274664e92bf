#include "sim/execution/flows/link_book.hpp"

#include <random>

#include <catch2/catch.hpp>

using pipewright::execution::TimeBins;

namespace {

TimeBins::Cell total(const TimeBins& bins, std::size_t account) {
  TimeBins::Cell sum;
  for (const TimeBins::Cell& cell : bins.cells(account)) sum += cell;
  return sum;
}

// Of [from, to], which are ends of pieces.
double bytes_within(const TimeBins& bins, std::size_t account, double from, double to) {
  double sum = 0;
  for (std::size_t i = 0; i < bins.cells(account).size(); ++i) {
    const double middle = bins.width() * (static_cast<double>(i) + 0.5);
    if (middle > from && middle < to) sum += bins.cells(account)[i].bytes;
  }
  return sum;
}

}  // namespace

TEST_CASE("no sum is lost however long the time becomes", "[links]") {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> span(10);
  TimeBins bins(64, 1024);
  std::vector<double> due;
  double now = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i % 60 == 0) due.push_back(0 * static_cast<double>(bins.open()));
    const auto account = static_cast<std::size_t>(random() % due.size());
    const double start = now * 0.9;
    now += span(random);
    bins.add(account, start, now, {.bytes = 7, .flows = 3, .waited = 1});
    due[account] += 1;
  }
  std::size_t cells = 0;
  for (std::size_t account = 0; account < due.size(); ++account) {
    CHECK(total(bins, account).bytes == Approx(7 * due[account]).epsilon(1e-12));
    CHECK(total(bins, account).flows == Approx(3 * due[account]).epsilon(1e-12));
    CHECK(total(bins, account).waited == Approx(due[account]).epsilon(1e-12));
    cells += bins.cells(account).size();
  }
  CHECK(cells <= 1024);  // as was asked
}

TEST_CASE("a sum spreads evenly over its time", "[links]") {
  TimeBins bins(512);
  const std::size_t account = bins.open();
  bins.add(account, 1, 3, {.bytes = 200});
  bins.add(account, 8, 8, {.bytes = 5});  // no time at all
  const double width = bins.width();
  CHECK(width * 512 > 8);
  CHECK(width * 256 <= 8);
  CHECK(bytes_within(bins, account, 0, 1 - width) == 0);
  CHECK(bytes_within(bins, account, 1 + width, 2) == Approx(100).epsilon(0.05));
  CHECK(bytes_within(bins, account, 3 + width, 8 - width) == 0);
  CHECK(bytes_within(bins, account, 8 - width, 9) == 5);
}
