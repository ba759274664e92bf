#include "analysis/commlogs/pictures/curve_picture.hpp"

#include <cmath>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "analysis/trace/error.hpp"
#include "tests/analysis/commlogs/compared.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {
namespace {

const CurveWords words{"Measured and predicted", "cluster"};

DrawnCurve sample_curve(const std::string& name, Operation operation = Operation::all_reduce) {
  DrawnCurve curve{{name, {}}, {}};
  for (int power = 3; power <= 34; ++power) {
    const std::uint64_t bytes = std::uint64_t{1} << power;
    const double us = 20 + static_cast<double>(bytes) / 90e3;
    curve.compared.rows.push_back(test::compared(bytes, us * (power % 3 == 0 ? 1.3 : 0.95), us));
    curve.compared.rows.back().measured.operation = operation;
    curve.predicted.push_back({bytes, us * 1e-6});
  }
  return curve;
}

std::string picture(const std::vector<DrawnCurve>& curves, PictureKind kind = PictureKind::svg,
                    CurveAxis axis = CurveAxis::time) {
  return curve_picture(curves, words, axis, kind);
}

double height(const std::string& svg) {
  const std::string mark = "height=\"";
  return std::stod(svg.substr(svg.find(mark) + mark.size()));
}

std::vector<DrawnCurve> curves(std::size_t count, Operation operation = Operation::all_reduce) {
  std::vector<DrawnCurve> samples;
  for (std::size_t i = 0; i < count; ++i)
    samples.push_back(sample_curve("curve " + std::to_string(i), operation));
  return samples;
}

}  // namespace

TEST_CASE("a picture of curves has the requested format and the same bytes each time",
          "[comm][picture]") {
  for (const CurveAxis axis : {CurveAxis::time, CurveAxis::bus_bandwidth})
    for (const std::size_t count : {1U, 4U, 8U, 20U}) {
      const auto drawn = curves(count);
      CHECK(picture(drawn, PictureKind::png, axis).substr(0, 8) == "\x89PNG\r\n\x1a\n");
      CHECK(picture(drawn, PictureKind::pdf, axis).substr(0, 5) == "%PDF-");
      CHECK(picture(drawn, PictureKind::svg, axis).substr(0, 5) == "<?xml");
      for (const PictureKind kind : {PictureKind::svg, PictureKind::png, PictureKind::pdf})
        CHECK(picture(drawn, kind, axis) == picture(drawn, kind, axis));
    }
}

TEST_CASE("pictures of time and bus bandwidth differ", "[comm][picture]") {
  CHECK(picture(curves(1)) != picture(curves(1), PictureKind::svg, CurveAxis::bus_bandwidth));
}

TEST_CASE("nine curves take two panels, which do not mix operations", "[comm][picture]") {
  const double one_panel = height(picture(curves(8)));
  const double two_panels = height(picture(curves(9)));
  CHECK(two_panels > one_panel + 350);
  CHECK(two_panels < 2 * one_panel);
  auto mixed = curves(5);
  for (const DrawnCurve& curve : curves(2, Operation::all_gather)) mixed.push_back(curve);
  CHECK(height(picture(mixed)) < one_panel + 50);
  for (const DrawnCurve& curve : curves(2, Operation::broadcast)) mixed.push_back(curve);
  CHECK(height(picture(mixed)) > two_panels + 350);
}

TEST_CASE("held-out rows have different marks", "[comm][picture]") {
  auto with_held_out = curves(1);
  with_held_out[0].compared.rows[4].held_out = true;
  CHECK(picture(with_held_out) != picture(curves(1)));
}

TEST_CASE("curves with one row, equal rows or outliers can be drawn", "[comm][picture]") {
  const DrawnCurve single{{"single", {test::compared(1024, 50, 40)}}, {}};
  const DrawnCurve equal{{"equal", {test::compared(8, 50, 50), test::compared(8, 50, 50)}}, {}};
  const DrawnCurve wild{{"wild", {test::compared(8, 1e-3, 1e9), test::compared(16, 1e9, 1e-3)}},
                        {}};
  for (const auto& curve : {single, equal, wild})
    for (const CurveAxis axis : {CurveAxis::time, CurveAxis::bus_bandwidth}) {
      const std::string svg = picture({curve}, PictureKind::svg, axis);
      CHECK_THAT(svg, !Catch::Contains("nan") && !Catch::Contains("inf"));
    }
}

TEST_CASE("rows without bytes and predictions of 0 s are left out", "[comm][picture]") {
  auto with_empty_row = curves(1);
  with_empty_row[0].compared.rows.insert(with_empty_row[0].compared.rows.begin(),
                                         test::compared(0, 5, 5));
  with_empty_row[0].predicted.insert(with_empty_row[0].predicted.begin(), {0, 1e-6});
  CHECK_THAT(picture(with_empty_row), !Catch::Contains("nan") && !Catch::Contains("inf"));
  auto timeless = curves(1);
  for (ComparedRow& row : timeless[0].compared.rows) row.predicted = 0;
  timeless[0].predicted.clear();
  CHECK_THAT(picture(timeless), !Catch::Contains("nan") && !Catch::Contains("inf"));
  CHECK_THROWS_AS(picture({}), std::logic_error);
}

TEST_CASE("names of curves never become markup", "[comm][picture]") {
  auto drawn = curves(2);
  drawn[0].compared.name = "<script>alert(1)</script>\xff\n" + std::string(400, 'x');
  const std::string svg = picture(drawn);
  CHECK_THAT(svg, !Catch::Contains("script"));
  CHECK(picture(drawn, PictureKind::pdf).size() > 1000);
}

TEST_CASE("a picture of curves that cannot be written is an error", "[comm][picture]") {
  CHECK_THROWS_AS(
      draw_curves(curves(1), words, CurveAxis::time, "/nowhere/at/all.svg", PictureKind::svg),
      trace::TraceError);
  const test::ScratchFolder folder;
  draw_curves(curves(1), words, CurveAxis::time, folder / "curves.svg", PictureKind::svg);
  CHECK(test::bytes_of(folder / "curves.svg") == picture(curves(1)));
}

}  // namespace pipewright::analysis
