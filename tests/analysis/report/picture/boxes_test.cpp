#include <catch2/catch.hpp>

#include "analysis/report/picture/layout.hpp"

namespace pipewright::analysis {
namespace {

constexpr Colour white{1, 1, 1};

// Returns consecutive passes that alternate between forward and backward.
std::vector<trace::PassRow> alternating(int count, double length_s, double gap_s = 0) {
  std::vector<trace::PassRow> passes(static_cast<std::size_t>(count));
  double now = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    passes[i].kind = i % 2 == 0 ? trace::PassKind::forward : trace::PassKind::backward;
    passes[i].start = now;
    passes[i].end = now + length_s;
    now += length_s + gap_s;
  }
  return passes;
}

std::vector<Box> make_boxes(const std::vector<trace::PassRow>& passes, double grain) {
  std::vector<const trace::PassRow*> pointers;
  for (const trace::PassRow& pass : passes) pointers.push_back(&pass);
  return row_boxes(pointers, 1, 1.0, grain, white);
}

}  // namespace

TEST_CASE("passes at least as wide as the grain have boxes of their own") {
  const std::vector<trace::PassRow> passes = alternating(4, 2.0);
  const std::vector<Box> boxes = make_boxes(passes, 1.0);
  REQUIRE(boxes.size() == 4);
  CHECK(boxes[2].pass == &passes[2]);
  CHECK(boxes[2].left == 4.0);
  CHECK(boxes[2].right == 6.0);
}

TEST_CASE("any number of narrow passes becomes one box with their mean colour") {
  const std::vector<Box> boxes = make_boxes(alternating(10'000, 1.0 / 1024), 1.0 / 16);
  // The 10,000 passes are narrower than a cell of the picture: one box covers all full cells, and a
  // second box the last, partial cell.
  REQUIRE(boxes.size() == 2);
  CHECK(boxes[0].pass == nullptr);
  const Colour mean =
      mix(style(trace::PassKind::forward).colour, style(trace::PassKind::backward).colour, 0.5);
  CHECK(boxes[0].colour.red == Approx(mean.red).margin(0.02));
  CHECK(boxes[0].colour.blue == Approx(mean.blue).margin(0.02));
  CHECK(boxes.back().right == Approx(10'000.0 / 1024).margin(1.0 / 16));
}

TEST_CASE("idle time within a blend shows the background") {
  const std::vector<Box> boxes = make_boxes(alternating(1024, 1.0 / 1024, 1.0 / 1024), 1.0 / 16);
  const Colour mean =
      mix(style(trace::PassKind::forward).colour, style(trace::PassKind::backward).colour, 0.5);
  CHECK(boxes[0].colour.blue == Approx(mix(mean, white, 0.5).blue).margin(0.02));
}

TEST_CASE("a wide pass among narrow ones is drawn over the blend") {
  std::vector<trace::PassRow> passes = alternating(8, 0.1);
  passes[4].end = passes[4].start + 3;
  for (std::size_t i = 5; i < passes.size(); ++i) {
    passes[i].start += 2.9;
    passes[i].end += 2.9;
  }
  const std::vector<Box> boxes = make_boxes(passes, 1.0);
  CHECK(boxes.back().pass == &passes[4]);
  CHECK(boxes.front().pass == nullptr);
}

TEST_CASE("the passes of a fused pair share a row, the forward pass above") {
  std::vector<trace::PassRow> passes = alternating(4, 2.0);
  for (const bool backward_first : {false, true}) {
    passes[2] = passes[backward_first ? 1 : 0];
    passes[3] = passes[backward_first ? 0 : 1];
    passes[2].start = passes[3].start = 4;
    passes[2].end = passes[3].end = 7;
    const std::vector<Box> boxes = make_boxes(passes, 1.0);
    REQUIRE(boxes.size() == 4);
    CHECK(boxes[1].part == Part::whole);
    CHECK(boxes[2].part == Part::upper);
    CHECK(boxes[2].pass->kind == trace::PassKind::forward);
    CHECK(boxes[3].part == Part::lower);
    CHECK(boxes[3].pass->kind == trace::PassKind::backward);
    CHECK(boxes[2].left == boxes[3].left);
    CHECK(boxes[2].right == 7);
  }
}

TEST_CASE("narrow fused pairs blend both colours equally") {
  std::vector<trace::PassRow> passes = alternating(512, 1.0 / 512);
  for (std::size_t i = 0; i < passes.size(); i += 2) {
    passes[i + 1].start = passes[i].start;
    passes[i].end = passes[i + 1].end;
  }
  const std::vector<Box> boxes = make_boxes(passes, 1.0 / 16);
  const Colour mean =
      mix(style(trace::PassKind::forward).colour, style(trace::PassKind::backward).colour, 0.5);
  CHECK(boxes[0].colour.red == Approx(mean.red).margin(0.02));
  CHECK(boxes[0].colour.blue == Approx(mean.blue).margin(0.02));
}

}  // namespace pipewright::analysis
