#include "sim/execution/flows/link_book.hpp"

#include <random>

#include <catch2/catch.hpp>

#include "support/runs.hpp"

using namespace pipewright;
using pipewright::execution::TimeBins;

namespace {

TimeBins::Cell total(const TimeBins& bins, std::size_t account) {
  TimeBins::Cell sum;
  for (const TimeBins::Cell& cell : bins.cells(account)) sum += cell;
  return sum;
}

// Returns the bytes of an account between two times, which have to be boundaries of bins.
double bytes_within(const TimeBins& bins, std::size_t account, double from, double to) {
  double sum = 0;
  for (std::size_t i = 0; i < bins.cells(account).size(); ++i) {
    const double middle = bins.width() * (static_cast<double>(i) + 0.5);
    if (middle > from && middle < to) sum += bins.cells(account)[i].bytes;
  }
  return sum;
}

}  // namespace

TEST_CASE("no amount is lost however long the time becomes", "[links]") {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> span(10);
  TimeBins bins(64, 1024);
  std::vector<double> calls;
  double now = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i % 60 == 0) calls.push_back(0 * static_cast<double>(bins.open()));
    const auto account = static_cast<std::size_t>(random() % calls.size());
    const double start = now * 0.9;
    now += span(random);
    bins.add(account, start, now, {.bytes = 7, .flows = 3, .waited = 1});
    calls[account] += 1;
  }
  std::size_t cells = 0;
  for (std::size_t account = 0; account < calls.size(); ++account) {
    CHECK(total(bins, account).bytes == Approx(7 * calls[account]).epsilon(1e-12));
    CHECK(total(bins, account).flows == Approx(3 * calls[account]).epsilon(1e-12));
    CHECK(total(bins, account).waited == Approx(calls[account]).epsilon(1e-12));
    cells += bins.cells(account).size();
  }
  CHECK(cells <= 1024);  // the limit
}

TEST_CASE("an amount spreads evenly over its time", "[links]") {
  TimeBins bins(512);
  const std::size_t account = bins.open();
  bins.add(account, 1, 3, {.bytes = 200});
  bins.add(account, 8, 8, {.bytes = 5});  // an instant
  const double width = bins.width();
  CHECK(width * 512 > 8);
  CHECK(width * 256 <= 8);
  CHECK(bytes_within(bins, account, 0, 1 - width) == 0);
  CHECK(bytes_within(bins, account, 1 + width, 2) == Approx(100).epsilon(0.05));
  CHECK(bytes_within(bins, account, 3 + width, 8 - width) == 0);
  CHECK(bytes_within(bins, account, 8 - width, 9) == 5);
}

// Flows from star-0 and from star-2 to star-1 share the last link, of 1 GB/s.
TEST_CASE("traffic of other jobs uses links but does not count as the job's own", "[links]") {
  const cluster::Cluster& cluster = tests::bench_cluster();
  const std::vector<cluster::Host*> hosts = cluster.place({"star-0", "star-1", "star-2"}, 3);
  const execution::Transfer own_flow{hosts[0], hosts[1], 1'000'000'000};
  const execution::Transfer other_flow{hosts[2], hosts[1], 1'000'000'000};
  execution::LinkBook book(cluster);
  book.add(own_flow, trace::TrafficClass::activation, 0, 2);
  book.add_from_other_job(other_flow, -1, 1);  // half of it before the job began
  book.add_from_other_job(other_flow, -3, -1);
  book.settle();
  constexpr double bin_tolerance = 0.01;
  int own_links = 0;
  for (std::size_t link = 0; link < book.size(); ++link) {
    const std::string& name = cluster::Cluster::link_name(book.link(link));
    CAPTURE(name);
    own_links += book.is_own(link) ? 1 : 0;
    const TimeBins::Cell sum = book.sum(link, 0, 2);
    CHECK(sum.bytes == Approx(book.is_own(link) ? 1e9 : 0).epsilon(bin_tolerance));
    CHECK(book.sum(link, 1, 2).bytes == Approx(sum.bytes / 2).epsilon(bin_tolerance));
    double other_bytes = 0;
    if (const auto* const cells = book.use_by_other_jobs(link))
      for (const TimeBins::Cell& cell : *cells) other_bytes += cell.bytes;
    const bool is_shared = name == "star-1_DOWN";
    CHECK(other_bytes == Approx(is_shared || name == "star-2_UP" ? 5e8 : 0).epsilon(bin_tolerance));
    // Sharing the last link makes the flow take 2 s instead of 1 s. In the first second it waits
    // for that link, not for its own.
    if (is_shared) CHECK(book.sum(link, 0, 1).waited == Approx(0.5).epsilon(bin_tolerance));
    if (name == "star-0_UP") CHECK(book.sum(link, 0, 1).waited == Approx(0).margin(bin_tolerance));
  }
  CHECK(own_links == 2);
}
