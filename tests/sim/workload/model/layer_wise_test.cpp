#include "sim/workload/model/layer_wise.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/workload/shape/matrices.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::layer_wise_layout;
using workload::MatrixShape;

namespace {

std::vector<MatrixShape> shapes_of(const std::string& model) {
  const SettingFixture fixture(library_model(model), "{}", {});
  std::vector<MatrixShape> shapes;
  for (const workload::Matrix& matrix :
       stage_matrices(fixture.setting, {.layers = {0, fixture.model.layers}}))
    shapes.insert(shapes.end(), matrix.count, {matrix.rows, matrix.columns});
  return shapes;
}

std::uint64_t elements_of(const std::vector<MatrixShape>& shapes) {
  return std::accumulate(
      shapes.begin(), shapes.end(), std::uint64_t{0},
      [](std::uint64_t sum, const MatrixShape& shape) { return sum + shape.first * shape.second; });
}

// Size of the padded buffer relative to the matrices, with Megatron-LM's default buckets.
double padded(const std::string& model, std::uint32_t ranks) {
  const std::vector<MatrixShape> shapes = shapes_of(model);
  const std::uint64_t bucket = std::max<std::uint64_t>(40'000'000, 1'000'000ULL * ranks);
  return static_cast<double>(layer_wise_layout(shapes, ranks, bucket).elements) /
         static_cast<double>(elements_of(shapes));
}

}  // namespace

// Results of Megatron-LM's _compute_per_buffer_param_layout for the same matrices.
TEST_CASE("buffers of whole matrices grow with the number of ranks", "[muon]") {
  const auto near = [](double size) { return Approx(size).margin(0.0005); };
  CHECK(padded("llama-3-8b", 8) == near(1.077));
  CHECK(padded("llama-3-8b", 16) == near(1.154));
  CHECK(padded("llama-3-8b", 32) == near(1.077));
  CHECK(padded("llama-3-8b", 64) == near(1.077));
  CHECK(padded("llama-3-8b", 128) == near(2.154));
  CHECK(padded("llama-3-8b", 256) == near(4.308));
  CHECK(padded("llama-3-70b", 8) == near(1.098));
  CHECK(padded("llama-3-70b", 32) == near(1.098));
  CHECK(padded("llama-3-70b", 64) == near(1.318));
  CHECK(padded("llama-3-70b", 128) == near(1.757));
}

TEST_CASE("a bucket that holds all matrices has a shard for each rank", "[muon]") {
  // Two ranks: the large matrix fills one shard, and the small ones share the other.
  const std::vector<MatrixShape> shapes{{128, 128}, {64, 128}, {64, 128}};
  const auto layout = layer_wise_layout(shapes, 2, 0);
  CHECK(layout.buckets == 1);
  CHECK(layout.elements == 2 * 128 * 128);
  CHECK(layout.rank_of == std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE("matrices start at multiples of 64 elements, and shards end at them", "[muon]") {
  const auto layout = layer_wise_layout(std::vector<MatrixShape>{{1, 65}, {1, 65}}, 1, 0);
  CHECK(layout.elements == 256);  // 128 for the first, 65 for the second, rounded up to 128
  CHECK(layer_wise_layout({}, 4, 0).elements == 0);
}

TEST_CASE("costs of earlier buckets count when a rank is chosen", "[muon]") {
  // A bucket for each pair of equal matrices: the second pair cannot change the balance, but the
  // single matrix of the last bucket goes to the rank with least work.
  const std::vector<MatrixShape> shapes{{64, 64}, {128, 64}, {128, 128}};
  const auto layout = layer_wise_layout(shapes, 2, 1);
  const std::uint32_t busy = layout.rank_of[2];
  CHECK(layout.rank_of[1] != busy);
}

TEST_CASE("tensors are dealt to ranks by size, forth and back", "[muon]") {
  const std::vector<std::uint64_t> sizes{9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  // By rising size: 0 1 2 3 to ranks 0 to 3, 4 5 6 7 to ranks 3 to 0, 8 9 to ranks 0 and 1.
  CHECK(workload::ping_pong(sizes, 4) == std::vector<std::uint32_t>{1, 0, 0, 1, 2, 3, 3, 2, 1, 0});
}
