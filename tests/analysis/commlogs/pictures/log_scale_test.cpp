#include "analysis/commlogs/pictures/log_scale.hpp"

#include <catch2/catch.hpp>

namespace pipewright::analysis {
namespace {

std::vector<std::string> labels(const std::vector<LogTick>& ticks) {
  std::vector<std::string> words;
  for (const LogTick& tick : ticks) words.push_back(tick.label);
  return words;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("equal ratios have equal distances on a logarithmic axis", "[comm]") {
  const LogScale scale{1, 1000, 100, 400};
  CHECK(scale(1) == Approx(100));
  CHECK(scale(10) == Approx(200));
  CHECK(scale(1000) == Approx(400));
  const LogScale upwards{1e-6, 1e-2, 300, 100};
  CHECK(upwards(1e-4) == Approx(200));
}

TEST_CASE("labels of sizes are at powers of two, equally many doublings apart", "[comm]") {
  CHECK(labels(size_ticks({1 << 20, 16 << 20, 0, 1}, 12)) ==
        Words{"1 MiB", "2 MiB", "4 MiB", "8 MiB", "16 MiB"});
  const auto ticks = size_ticks({7.5, 17.2e9, 0, 1}, 12);
  CHECK(labels(ticks) == Words{"8 B", "64 B", "512 B", "4 KiB", "32 KiB", "256 KiB", "2 MiB",
                               "16 MiB", "128 MiB", "1 GiB", "8 GiB"});
  for (std::size_t i = 1; i < ticks.size(); ++i) CHECK(ticks[i].value == 8 * ticks[i - 1].value);
  for (const int room : {1, 2, 3, 5, 30})
    CHECK(size_ticks({1, 1e12, 0, 1}, room).size() <= static_cast<std::size_t>(room) + 1);
}

TEST_CASE("times and bandwidths have round labels with their units", "[comm]") {
  CHECK(labels(second_ticks({9e-6, 1.1e-3, 0, 1})) ==
        Words{"10 us", "20 us", "50 us", "100 us", "200 us", "500 us", "1 ms"});
  CHECK(labels(second_ticks({1e-6, 1, 0, 1})) == Words{"1 us", "", "", "10 us", "", "", "100 us",
                                                       "", "", "1 ms", "", "", "10 ms", "", "",
                                                       "100 ms", "", "", "1 s"});
  CHECK(labels(bandwidth_ticks({90e9, 350e9, 0, 1})) ==
        Words{"100 GB/s", "150 GB/s", "200 GB/s", "300 GB/s"});
  CHECK(labels(bandwidth_ticks({150e9, 2.5e12, 0, 1})) ==
        Words{"200 GB/s", "500 GB/s", "1 TB/s", "2 TB/s"});
  CHECK(labels(bandwidth_ticks({1e3, 1e3, 0, 1})) == Words{"1 kB/s"});
}

}  // namespace pipewright::analysis
