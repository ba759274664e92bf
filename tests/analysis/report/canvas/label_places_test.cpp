#include <catch2/catch.hpp>

#include "analysis/report/canvas/plot.hpp"

namespace pipewright::analysis {
namespace {

constexpr Area page{0, 0, 400, 300};

}  // namespace

TEST_CASE("a label stands to the right of its dot if nothing is in its way") {
  const auto places = place_labels({{100, 100, 40, 10}}, {}, page);
  REQUIRE(places[0].has_value());
  CHECK(places[0]->left > 100);
  CHECK(places[0]->left < 115);
  CHECK(places[0]->top == 95);
}

TEST_CASE("labels stay on the page and clear of lines") {
  const auto at_edge = place_labels({{390, 100, 40, 10}}, {}, page);
  REQUIRE(at_edge[0].has_value());
  CHECK(at_edge[0]->right <= page.right);
  const Area line{0, 99, 400, 101};
  const auto on_line = place_labels({{100, 100, 40, 10}}, {line}, page);
  REQUIRE(on_line[0].has_value());
  CHECK_FALSE(overlap(*on_line[0], line));
}

TEST_CASE("labels of close dots do not overlap each other or the dots") {
  std::vector<LabelledDot> dots;
  for (int i = 0; i < 12; ++i) dots.push_back({150.0 + 9 * (i % 4), 120.0 + 7 * (i / 4), 60, 10});
  const auto places = place_labels(dots, {}, page);
  for (std::size_t i = 0; i < dots.size(); ++i) {
    REQUIRE(places[i].has_value());
    for (std::size_t j = 0; j < dots.size(); ++j) {
      if (j != i) CHECK_FALSE(overlap(*places[i], *places[j]));
      CHECK_FALSE(
          overlap(*places[i], {dots[j].x - 3, dots[j].y - 3, dots[j].x + 3, dots[j].y + 3}));
    }
  }
}

TEST_CASE("a label without room is left out") {
  CHECK_FALSE(place_labels({{100, 100, 500, 10}}, {}, page)[0].has_value());
}

}  // namespace pipewright::analysis
