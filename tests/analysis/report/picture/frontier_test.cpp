#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "analysis/report/picture/pictures.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {
namespace {

using pipewright::test::bytes_of;
using pipewright::test::ScratchFolder;

const std::vector<FrontierPoint> points{
    {2, 0.185, 0.12, ""}, {3, 0.094, 0.05, ""}, {4, 0.030, 0.020, ""}, {5, 0.02, 0.02, ""}};
const std::vector<NamedPoint> named{{"1f1b", 4, 0.158},  {"zb-h1", 4, 0.06}, {"v-half", 3, 0.094},
                                    {"v-min", 2, 0.185}, {"zb-v", 4, 0.030}, {"v-zb", 4, 0.031}};
const FrontierWords words{.title = "4 devices x 16 microbatches", .details = "F = I = W"};

std::string frontier_picture(const ScratchFolder& folder, const std::vector<FrontierPoint>& line,
                             const std::vector<NamedPoint>& dots, PictureKind kind) {
  draw_frontier(line, dots, words, folder / "picture", kind);
  return bytes_of(folder / "picture");
}

std::size_t characters(const std::string& svg) {
  std::size_t occurrences = 0;
  const std::string mark = "<use xlink:href=\"#glyph";
  for (std::size_t position = svg.find(mark); position != std::string::npos;
       position = svg.find(mark, position + 1))
    ++occurrences;
  return occurrences;
}

}  // namespace

TEST_CASE("a frontier has the requested format and the same bytes each time") {
  const ScratchFolder folder;
  CHECK(frontier_picture(folder, points, named, PictureKind::png).substr(0, 8) ==
        "\x89PNG\r\n\x1a\n");
  CHECK(frontier_picture(folder, points, named, PictureKind::pdf).substr(0, 5) == "%PDF-");
  CHECK(frontier_picture(folder, points, named, PictureKind::svg).substr(0, 5) == "<?xml");
  for (const PictureKind kind : {PictureKind::svg, PictureKind::png, PictureKind::pdf})
    CHECK(frontier_picture(folder, points, named, kind) ==
          frontier_picture(folder, points, named, kind));
}

TEST_CASE("every named schedule has a label") {
  const ScratchFolder folder;
  std::vector<NamedPoint> longer = named;
  for (NamedPoint& point : longer) point.name += "xx";
  CHECK(characters(frontier_picture(folder, points, longer, PictureKind::svg)) ==
        characters(frontier_picture(folder, points, named, PictureKind::svg)) + 2 * named.size());
}

TEST_CASE("the order of a frontier's points does not matter") {
  const ScratchFolder folder;
  const std::vector<FrontierPoint> reversed(points.rbegin(), points.rend());
  CHECK(frontier_picture(folder, reversed, named, PictureKind::svg) ==
        frontier_picture(folder, points, named, PictureKind::svg));
}

TEST_CASE("frontiers of one point, without bubbles or in bytes can be drawn") {
  const ScratchFolder folder;
  CHECK(frontier_picture(folder, {{4, 0, 0, ""}}, {}, PictureKind::svg).size() > 500);
  CHECK(frontier_picture(folder, {}, {{"1f1b", 0, 1}}, PictureKind::svg).size() > 500);
  CHECK(frontier_picture(folder, {{2e10, 0.1, 0, "a"}, {8e10, 1e-9, 0, "b"}}, {}, PictureKind::svg)
            .size() > 500);
}

TEST_CASE("an empty or infinite frontier is a logic error, an unwritable file a trace error") {
  const ScratchFolder folder;
  CHECK_THROWS_AS(frontier_picture(folder, {}, {}, PictureKind::svg), std::logic_error);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(frontier_picture(folder, {{1, nan, 0, ""}}, {}, PictureKind::svg),
                  std::logic_error);
  CHECK_THROWS_AS(draw_frontier(points, named, words, folder / "no/a.svg", PictureKind::svg),
                  trace::TraceError);
}

}  // namespace pipewright::analysis
