#include "analysis/commlogs/pictures/heat_map.hpp"

#include <catch2/catch.hpp>

#include "analysis/commlogs/pair_matrix.hpp"
#include "analysis/commlogs/pictures/colour_scale.hpp"
#include "tests/analysis/commlogs/pair_matrices.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {
namespace {

using pipewright::test::bytes_of;
using pipewright::test::ScratchFolder;
using test::nodes_of_gpus;

std::string heat_map(const PairMatrix& matrix, PictureKind kind, std::uint64_t message = 0) {
  const ScratchFolder folder;
  draw_heat_map(matrix, message, {"cluster", "details"}, folder / "picture", kind);
  return bytes_of(folder / "picture");
}

}  // namespace

TEST_CASE("a heat map has the requested format and the same bytes each time", "[comm]") {
  const PairMatrix matrix = nodes_of_gpus(2, 4);
  CHECK(heat_map(matrix, PictureKind::png).substr(0, 8) == "\x89PNG\r\n\x1a\n");
  CHECK(heat_map(matrix, PictureKind::pdf).substr(0, 5) == "%PDF-");
  CHECK(heat_map(matrix, PictureKind::svg).substr(0, 5) == "<?xml");
  for (const PictureKind kind : {PictureKind::svg, PictureKind::png, PictureKind::pdf})
    CHECK(heat_map(matrix, kind) == heat_map(matrix, kind));
  CHECK(heat_map(matrix, PictureKind::png) != heat_map(matrix, PictureKind::png, 1000));
}

TEST_CASE("the file of a heat map stays small for any number of GPUs", "[comm]") {
  CHECK(heat_map(nodes_of_gpus(1, 2), PictureKind::svg).size() < 100'000);
  CHECK(heat_map(nodes_of_gpus(64, 8), PictureKind::svg).size() < 2'000'000);
  CHECK(heat_map(nodes_of_gpus(256, 8), PictureKind::svg).size() < 1'000'000);  // One row per node.
  CHECK(heat_map(nodes_of_gpus(1000, 1), PictureKind::svg).size() < 1'000'000);
}

TEST_CASE("names in a heat map never become markup", "[comm]") {
  PairMatrix matrix = nodes_of_gpus(2, 2);
  matrix.names[0] = "<script>alert(1)</script>\xff\n";
  const ScratchFolder folder;
  draw_heat_map(matrix, 0, {"<b>\x1b[31m", std::string(500, 'x')}, folder / "a.svg",
                PictureKind::svg);
  const std::string svg = bytes_of(folder / "a.svg");
  CHECK(svg.find("script") == std::string::npos);
  CHECK(svg.find("<b>") == std::string::npos);
}

TEST_CASE("blocks cover every cell with its class", "[comm]") {
  const PairMatrix matrix = GENERATE(nodes_of_gpus(1, 5), nodes_of_gpus(4, 3), nodes_of_gpus(5, 1));
  const std::size_t n = matrix.size();
  std::vector<std::uint32_t> painted(n * n, 1000);
  for (const CellBlock& block : cut_into_blocks(matrix))
    for (std::size_t i = block.top; i < block.bottom; ++i)
      for (std::size_t j = block.left; j < block.right; ++j) painted.at(i * n + j) = block.number;
  CHECK(painted == matrix.class_of);
}

TEST_CASE("many equal cells make few blocks", "[comm]") {
  // The row of each of the 200 GPUs takes at most four blocks of equal cells: the GPU itself, the
  // peer on its rail, and the GPUs of its node before and after it.
  CHECK(cut_into_blocks(nodes_of_gpus(2, 100)).size() <= 4 * 200);
}

TEST_CASE("sampled rows of a matrix are at equal distances", "[comm]") {
  const PairMatrix whole = nodes_of_gpus(6, 2);
  const PairMatrix sample = sample_rows(whole, 4);
  CHECK(sample.names == std::vector<std::string>{"gpu-0", "gpu-3", "gpu-6", "gpu-9"});
  CHECK(sample.at(1, 2) == whole.at(3, 6));
  CHECK(sample_rows(whole, 12).names == whole.names);
}

TEST_CASE("few values get equally spaced colours, many get colours by their logarithms", "[comm]") {
  const ColourScale spaced(blue_ramp, {100, 13.6, 3.4, 13.6, 13.600001});
  CHECK(spaced.number_of(3.4) == 0);
  CHECK(spaced.number_of(13.6) == 1);
  CHECK(spaced.number_of(100) == 2);
  CHECK(hex(spaced.colour(0)) == hex(blue_ramp[0]));
  CHECK(hex(spaced.colour(1)) == hex(mix(blue_ramp[1], blue_ramp[2], 0.5)));
  CHECK(hex(spaced.colour(2)) == hex(blue_ramp[3]));
  std::vector<double> powers;
  for (int i = 0; i <= 30; ++i) powers.push_back(std::pow(2, i));
  const ColourScale logarithmic(blue_ramp, powers);
  CHECK(hex(logarithmic.colour(10)) == hex(blue_ramp[1]));
  CHECK(hex(logarithmic.colour(30)) == hex(blue_ramp[3]));
}

}  // namespace pipewright::analysis
