#include <cairo.h>
#include <catch2/catch.hpp>

#include "analysis/report/palette.hpp"
#include "analysis/report/picture/pictures.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/report/picture/fused_trace.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {
namespace {

using pipewright::test::bytes_of;
using pipewright::test::ScratchFolder;
using test::one_f_one_b_trace;

std::string timeline_bytes(const ScratchFolder& folder, const std::vector<trace::Trace>& runs,
                           PictureKind kind) {
  draw_timeline(runs, folder / "picture", kind);
  return bytes_of(folder / "picture");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t occurrences = 0;
  for (std::size_t position = text.find(part); position != std::string::npos;
       position = text.find(part, position + 1))
    ++occurrences;
  return occurrences;
}

// Counts the characters in an SVG: cairo draws each as a reference to the outline of a glyph.
std::size_t characters(const std::string& svg) { return count(svg, "<use xlink:href=\"#glyph"); }

}  // namespace

TEST_CASE("a timeline has the requested format") {
  const ScratchFolder folder;
  const std::vector<trace::Trace> runs{one_f_one_b_trace({})};
  CHECK(timeline_bytes(folder, runs, PictureKind::png).substr(0, 8) == "\x89PNG\r\n\x1a\n");
  CHECK(timeline_bytes(folder, runs, PictureKind::pdf).substr(0, 5) == "%PDF-");
  const std::string svg = timeline_bytes(folder, runs, PictureKind::svg);
  CHECK(svg.substr(0, 5) == "<?xml");
  CHECK_THAT(svg, Catch::Contains("</svg>"));
  CHECK(folder.entries() == 1);
}

TEST_CASE("a timeline has the same bytes each time") {
  const ScratchFolder folder;
  const std::vector<trace::Trace> runs{one_f_one_b_trace({}),
                                       one_f_one_b_trace({.blocked_s = 1e-3})};
  for (const PictureKind kind : {PictureKind::svg, PictureKind::png, PictureKind::pdf})
    CHECK(timeline_bytes(folder, runs, kind) == timeline_bytes(folder, runs, kind));
}

TEST_CASE("each pass is labelled with its microbatch if there is room") {
  const ScratchFolder folder;
  const auto svg_of = [&](trace::Trace run) {
    return timeline_bytes(folder, {std::move(run)}, PictureKind::svg);
  };
  trace::Trace run = one_f_one_b_trace({});
  const std::size_t digit_characters = characters(svg_of(run));
  for (trace::PassRow& pass : run.passes) pass.microbatch += 10;
  CHECK(characters(svg_of(run)) == digit_characters + run.passes.size());

  // With 64 devices rows are too low for microbatch numbers, so that other numbers do not change
  // the number of characters.
  trace::Trace large = one_f_one_b_trace({.devices = 64, .microbatches = 4});
  const std::string original = svg_of(large);
  for (trace::PassRow& pass : large.passes) pass.microbatch += 10;
  CHECK(characters(svg_of(large)) == characters(original));
}

TEST_CASE("passes have the colours of their kinds") {
  const ScratchFolder folder;
  draw_timeline(std::vector{one_f_one_b_trace({})}, folder / "a.png", PictureKind::png);
  cairo_surface_t* image = cairo_image_surface_create_from_png((folder / "a.png").c_str());
  REQUIRE(cairo_surface_status(image) == CAIRO_STATUS_SUCCESS);
  const int width = cairo_image_surface_get_width(image);
  const int height = cairo_image_surface_get_height(image);
  const auto pixels_of = [&](Colour colour) {
    const auto pixel = static_cast<std::uint32_t>(std::stoul(hex(colour).substr(1), nullptr, 16));
    int occurrences = 0;
    for (int y = 0; y < height; ++y) {
      const unsigned char* row =
          cairo_image_surface_get_data(image) + y * cairo_image_surface_get_stride(image);
      for (int x = 0; x < width; ++x)
        if ((reinterpret_cast<const std::uint32_t*>(row)[x] & 0xFFFFFF) == pixel) ++occurrences;
    }
    return occurrences;
  };
  const int forward = pixels_of(style(trace::PassKind::forward).colour);
  const int backward = pixels_of(style(trace::PassKind::backward).colour);
  CHECK(forward > 0.05 * width * height);
  // Backward passes take twice as long as forward passes, so they fill twice the pixels, apart from
  // labels and outlines.
  CHECK(backward / static_cast<double>(forward) == Approx(2.0).margin(0.25));
  CHECK(pixels_of(style(trace::PassKind::weight_grad).colour) == 0);
  cairo_surface_destroy(image);
}

TEST_CASE("both passes of a fused pair are drawn and labelled") {
  const ScratchFolder folder;
  trace::Trace run = test::fused_trace();
  const auto svg_of = [&](const trace::Trace& trace) {
    return timeline_bytes(folder, {trace}, PictureKind::svg);
  };
  const std::size_t original = characters(svg_of(run));
  for (trace::PassRow& pass : run.passes) pass.microbatch = pass.microbatch % 10;
  const std::size_t digit_characters = characters(svg_of(run));
  CHECK(digit_characters < original);
  for (trace::PassRow& pass : run.passes) pass.microbatch += 10;
  CHECK(characters(svg_of(run)) == digit_characters + run.passes.size());
}

TEST_CASE("timelines of large runs stay small") {
  const ScratchFolder folder;
  const std::string large = timeline_bytes(
      folder, {one_f_one_b_trace({.devices = 64, .microbatches = 512})}, PictureKind::svg);
  CHECK(large.size() < 10'000'000);
  const std::string wide = timeline_bytes(
      folder, {one_f_one_b_trace({.devices = 256, .microbatches = 512})}, PictureKind::svg);
  CHECK(wide.size() < 10'000'000);
}

TEST_CASE("odd names and empty runs can be drawn") {
  const ScratchFolder folder;
  trace::Trace with_odd_names = one_f_one_b_trace({.devices = 1, .microbatches = 1});
  with_odd_names.devices[0].host = "\xff\n<&>";
  with_odd_names.run.schedule = std::string(500, 'x') + "\xc3";
  trace::Trace empty;
  for (const PictureKind kind : {PictureKind::svg, PictureKind::png, PictureKind::pdf})
    CHECK(timeline_bytes(folder, {with_odd_names, empty}, kind).size() > 500);
}

TEST_CASE("collectives and optimizer steps are drawn and in the legend if there are any") {
  const ScratchFolder folder;
  trace::Trace run = one_f_one_b_trace({.devices = 2, .microbatches = 2});
  const std::size_t original = characters(timeline_bytes(folder, {run}, PictureKind::svg));
  run.collectives = {{0, 0, 0, trace::CollectiveKind::reduce_gradients, 1, 1e-3, 1e-3, 2e-3}};
  const std::size_t explained = characters(timeline_bytes(folder, {run}, PictureKind::svg));
  CHECK(explained == original + std::string("gradient reduction").size());
  run.steps = {{1, 0, 8e-3, 8e-3, 8e-3, 9e-3, 9e-3, 0}};
  CHECK(characters(timeline_bytes(folder, {run}, PictureKind::svg)) ==
        explained + std::string("optimizer step").size());
}

TEST_CASE("a picture that cannot be written is an error with its path, and leaves no file") {
  const ScratchFolder folder;
  const std::vector<trace::Trace> runs{one_f_one_b_trace({})};
  CHECK_THROWS_WITH(draw_timeline(runs, folder / "none/a.svg", PictureKind::svg),
                    Catch::Contains("none/a.svg: cannot write: folder"));
  CHECK_THROWS_AS(draw_timeline(runs, folder / "", PictureKind::svg), trace::TraceError);
  CHECK(folder.entries() == 0);
}

}  // namespace pipewright::analysis
