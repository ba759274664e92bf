// Tests of helpers that several trace exports use: lanes for overlapping spans, and text output.
#include <algorithm>
#include <random>
#include <sstream>

#include <catch2/catch.hpp>

#include "analysis/report/export/spans.hpp"
#include "analysis/report/export/text_out.hpp"
#include "tests/analysis/report/runs.hpp"

namespace pipewright::analysis {

TEST_CASE("spans ordered by end take as many lanes as overlap at once", "[export]") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;  // end, start
    for (int i = 0; i < 60; ++i) {
      const std::int64_t start = random() % 300;
      spans.emplace_back(start + 1 + random() % 40, start);
    }
    std::sort(spans.begin(), spans.end());
    std::uint32_t max_overlap = 0;
    for (const auto& [end, start] : spans) {
      std::uint32_t overlap = 0;
      for (const auto& rhs : spans) overlap += rhs.second <= start && start < rhs.first ? 1 : 0;
      max_overlap = std::max(max_overlap, overlap);
    }
    Lanes lanes;
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> placed(spans.size());
    std::uint32_t used_lanes = 0;
    for (const auto& span : spans) {
      const std::uint32_t lane = lanes.place(span.second, span.first);
      used_lanes = std::max(used_lanes, lane + 1);
      for (const auto& neighbour : placed.at(lane)) CHECK(neighbour.first <= span.second);
      placed[lane].push_back(span);
    }
    CHECK(used_lanes == max_overlap);
  }
}

TEST_CASE("lines are sorted by time with any amount of memory", "[export]") {
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

TEST_CASE("handovers are found in any order of the devices' rows", "[export]") {
  trace::Trace run = pipewright::test::two_device_run();
  const auto count_handovers = [&] {
    Handovers handovers(run.stages);
    PassSpans spans(run.devices.size());
    int handover_count = 0;
    for (const trace::PassRow& pass : run.passes) {
      const Span span = spans.next(pass);
      handover_count += handovers.consumed(pass, span) ? 1 : 0;
      handover_count += handovers.produced(pass, span) ? 1 : 0;
    }
    return handover_count;
  };
  CHECK(count_handovers() == 4);
  std::ranges::stable_sort(run.passes, std::greater<>(), &trace::PassRow::device);
  CHECK(count_handovers() == 4);
  for (trace::PassRow& pass : run.passes) pass.device = 0;  // No tensor leaves the device.
  run.passes.resize(1);
  CHECK(count_handovers() == 0);
}

TEST_CASE("very large times do not overflow nanoseconds", "[export]") {
  CHECK(nanoseconds(1.5) == 1'500'000'000);
  CHECK(nanoseconds(0.1 + 0.2) == 300'000'000);
  CHECK(nanoseconds(1e300) == 9'000'000'000'000'000'000);
}

}  // namespace pipewright::analysis
