// Tests that apply to all pictures: file formats, identical bytes for identical runs, and unusual
// input.
#include "analysis/report/picture/pictures.hpp"

#include <functional>

#include <catch2/catch.hpp>

#include "analysis/report/why/time_split.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {
namespace {

using pipewright::test::bytes_of;
using pipewright::test::ScratchFolder;
using test::one_f_one_b_trace;
using Runs = std::vector<trace::Trace>;
using Draw = std::function<void(const Runs&, const std::filesystem::path&, PictureKind)>;

const std::vector<Draw> pictures{
    [](const Runs& runs, auto& file, PictureKind kind) { draw_memory(runs, file, kind); },
    [](const Runs& runs, auto& file, PictureKind kind) { draw_bubbles(runs, file, kind); },
    [](const Runs& runs, auto& file, PictureKind kind) {
      std::vector<Summary> summaries;
      for (const trace::Trace& run : runs) summaries.push_back(summarize(run));
      draw_tradeoff(summaries, file, kind);
    }};

std::string picture_bytes(const Draw& draw, const Runs& runs, PictureKind kind) {
  const ScratchFolder folder;
  draw(runs, folder / "picture", kind);
  return bytes_of(folder / "picture");
}

}  // namespace

TEST_CASE("every picture has the requested format and the same bytes each time", "[picture]") {
  const Runs single{one_f_one_b_trace({})};
  const Runs pair{one_f_one_b_trace({}), one_f_one_b_trace({.microbatches = 16})};
  for (const Draw& draw : pictures)
    for (const Runs& runs : {single, pair}) {
      CHECK(picture_bytes(draw, runs, PictureKind::png).substr(0, 8) == "\x89PNG\r\n\x1a\n");
      CHECK(picture_bytes(draw, runs, PictureKind::pdf).substr(0, 5) == "%PDF-");
      CHECK(picture_bytes(draw, runs, PictureKind::svg).substr(0, 5) == "<?xml");
      for (const PictureKind kind : {PictureKind::svg, PictureKind::png, PictureKind::pdf})
        CHECK(picture_bytes(draw, runs, kind) == picture_bytes(draw, runs, kind));
    }
}

TEST_CASE("names never become markup in a picture", "[picture]") {
  trace::Trace run = one_f_one_b_trace({.devices = 2, .microbatches = 2});
  run.run.schedule = "<script>alert(1)</script>\xff" + std::string(400, 'x');
  run.devices[0].host = "\"><image href=\"x\"/>\n";
  for (const Draw& draw : pictures)
    for (const Runs& runs : {Runs{run}, Runs{run, run}}) {
      const std::string svg = picture_bytes(draw, runs, PictureKind::svg);
      CHECK(svg.find("script") == std::string::npos);
      CHECK(svg.find("href=\"x\"") == std::string::npos);
    }
}

TEST_CASE("pictures of large runs stay small", "[picture]") {
  const Runs large{one_f_one_b_trace({.devices = 96, .microbatches = 300})};
  for (const Draw& draw : pictures)
    CHECK(picture_bytes(draw, large, PictureKind::svg).size() < 3'000'000);
}

TEST_CASE("a run without passes can be drawn, but memory needs rows", "[picture]") {
  trace::Trace empty;
  empty.run.devices = 1;
  empty.devices = {{0, "", 0}};
  const ScratchFolder folder;
  draw_bubbles(Runs{empty}, folder / "a.svg", PictureKind::svg);
  draw_tradeoff(std::vector{summarize(empty)}, folder / "b.svg", PictureKind::svg);
  CHECK_THROWS_WITH(draw_memory(Runs{empty}, folder / "c.svg", PictureKind::svg),
                    Catch::Contains("there is no memory to draw"));
  CHECK(folder.entries() == 2);
}

TEST_CASE("only runs of the same model, or of no model, have a Pareto front", "[picture]") {
  const auto drawn_line = [](const std::vector<Summary>& runs) {
    const ScratchFolder folder;
    draw_tradeoff(runs, folder / "picture", PictureKind::svg);
    return bytes_of(folder / "picture").size();
  };
  std::vector<Summary> runs{summarize(one_f_one_b_trace({})),
                            summarize(one_f_one_b_trace({.microbatches = 16}))};
  const std::size_t with_line = drawn_line(runs);
  runs[0].run.model_flops = 1e12;
  CHECK(drawn_line(runs) < with_line);
  runs[1].run.model_flops = 1e12;
  CHECK(drawn_line(runs) == with_line);
}

TEST_CASE("a capacity above the axis is given in the legend", "[picture]") {
  const auto size = [](std::uint64_t capacity) {
    trace::Trace run = one_f_one_b_trace({});
    for (trace::DeviceRow& device : run.devices) device.memory_capacity = capacity;
    return picture_bytes(pictures[0], Runs{run}, PictureKind::svg).size();
  };
  CHECK(size(std::uint64_t{1} << 60) > size(0));
}

TEST_CASE("the parts of a bar add up to the makespan", "[picture]") {
  const trace::Trace run = one_f_one_b_trace({.devices = 4, .blocked_s = 1e-4});
  const double makespan = summarize(run).makespan_s;
  const auto sum = [](const BarParts& parts) {
    double total = 0;
    for (const double part : parts) total += part;
    return total;
  };
  const std::vector<TimeSplit> splits = time_splits(run);
  for (const TimeSplit& split : splits) CHECK(sum(mean_parts({&split, 1})) == Approx(makespan));
  CHECK(sum(mean_parts(splits)) == Approx(makespan));
}

}  // namespace pipewright::analysis
