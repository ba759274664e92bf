// What the exports share.
#include <algorithm>
#include <random>
#include <sstream>

#include <catch2/catch.hpp>

#include "analysis/report/export/spans.hpp"
#include "analysis/report/export/text_out.hpp"
#include "tests/analysis/report/runs.hpp"

namespace pipewright::analysis {

TEST_CASE("spans in order of their ends take as many lanes as overlap", "[export]") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;  // end, start
    for (int i = 0; i < 60; ++i) {
      const std::int64_t start = random() % 300;
      spans.emplace_back(start + 1 + random() % 40, start);
    }
    std::sort(spans.begin(), spans.end());
    std::uint32_t most = 0;
    for (const auto& [end, start] : spans) {
      std::uint32_t at_once = 0;
      for (const auto& other : spans)
        at_once += other.second <= start && start < other.first ? 1 : 0;
      most = std::max(most, at_once);
    }
    Lanes lanes;
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> placed(spans.size());
    std::uint32_t used = 0;
    for (const auto& span : spans) {
      const std::uint32_t lane = lanes.place(span.second, span.first);
      used = std::max(used, lane + 1);
      for (const auto& other : placed.at(lane)) CHECK(other.first <= span.second);
      placed[lane].push_back(span);
    }
    CHECK(used == most);
  }
}

TEST_CASE("lines come back in order of time, however little memory they have", "[export]") {
  std::mt19937 random(11);
  for (const std::size_t memory : {std::size_t{1}, std::size_t{200}, std::size_t{1} << 20}) {
    SortedLines sorted(memory);
    std::vector<std::pair<std::int64_t, int>> expected;
    for (int i = 0; i < 300; ++i) {
      const auto time = static_cast<std::int64_t>(random() % 40);
      expected.emplace_back(time, i);
      sorted.add(time, std::to_string(i) + "\n");
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    for (const auto& [time, number] : expected) text += std::to_string(number) + "\n";
    std::ostringstream stream;
    sorted.write_to(stream);
    CHECK(stream.str() == text);
    std::ostringstream empty;
    sorted.write_to(empty);
    CHECK(empty.str().empty());
  }
}

TEST_CASE("passes find their counterparts in any order of the devices' rows", "[export]") {
  trace::Trace run = pipewright::test::two_device_run();
  const auto count = [&] {
    Handovers handovers(run.stages);
    PassSpans spans(run.devices.size());
    int found = 0;
    for (const trace::PassRow& pass : run.passes) {
      const Span span = spans.next(pass);
      found += handovers.consumed(pass, span) ? 1 : 0;
      found += handovers.produced(pass, span) ? 1 : 0;
    }
    return found;
  };
  CHECK(count() == 4);
  std::ranges::stable_sort(run.passes, std::greater<>(), &trace::PassRow::device);
  CHECK(count() == 4);
  for (trace::PassRow& pass : run.passes) pass.device = 0;  // nothing leaves the device
  run.passes.resize(1);
  CHECK(count() == 0);
}

TEST_CASE("seconds that no clock has do not overflow nanoseconds", "[export]") {
  CHECK(nanoseconds(1.5) == 1'500'000'000);
  CHECK(nanoseconds(0.1 + 0.2) == 300'000'000);
  CHECK(nanoseconds(1e300) == 9'000'000'000'000'000'000);
}

}  // namespace pipewright::analysis
