#include "sim/config/derived_gpu.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "sim/config/gpu.hpp"
#include "sim/config/nearest_gpu.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

Gpu gpu_in(const std::string& text) {
  const Value value = read_yaml_text(text, "g.yaml");
  return read_gpu({value, "gpu"});
}

// Numbers of a data sheet of Blackwell, without braces.
const std::string sheet =
    "name: next, flops: 2250 TFLOP/s, memory: 180 GiB, memory_bandwidth: 7700 GB/s, "
    "processors: 148";

std::string source_of(const Gpu& gpu, const std::string& key) {
  const auto number = std::ranges::find(gpu.derived, key, &DerivedNumber::key);
  return number == gpu.derived.end() ? "" : number->source;
}

std::string like_of(const std::string& text, const std::string& name) {
  const Value tree = with_nearest_gpu(read_yaml_text(text, "g.yaml"), name);
  const Value* const like = find(tree, "like");
  return like == nullptr ? "" : like->text;
}

TEST_CASE("a GPU takes the numbers that its file lacks from the GPU under like", "[config]") {
  const Gpu base = find_gpu("h100-sxm");
  const Gpu gpu = gpu_in("{" + sheet +
                         ", like: h100-sxm, products: {fp8: {flops: 4500 TFLOP/s}}, "
                         "memory_efficiency: 0.9}");
  CHECK(gpu.products.bf16->efficiency == base.products.bf16->efficiency);
  CHECK(gpu.products.bf16->flops == 2250e12);
  CHECK(gpu.products.fp8->overhead == base.products.fp8->overhead);
  CHECK(gpu.products.fp8->flops == 4500e12);
  CHECK(gpu.kernel_overhead == base.kernel_overhead);
  CHECK(gpu.attention.cudnn->forward == base.attention.cudnn->forward);
  CHECK(gpu.memory_efficiency == 0.9);
  CHECK(source_of(gpu, "products.bf16") == "h100-sxm");
  CHECK(source_of(gpu, "products.fp8.efficiency") == "h100-sxm");
  CHECK(source_of(gpu, "attention") == "h100-sxm");
  CHECK(source_of(gpu, "memory_efficiency").empty());
  CHECK(source_of(gpu, "flops").empty());
  CHECK(name_with_sources(gpu) == "next (derived from h100-sxm)");
}

TEST_CASE("numbers of another GPU are scaled to peak, memory and power", "[config]") {
  const Gpu base = find_gpu("h100-sxm");
  const Gpu gpu = gpu_in("{" + sheet + ", like: h100-sxm, power: {compute: 1000 W}}");
  // Each processor is (2250 / 148) / (989.5 / 132) = 2.028 times as fast.
  CHECK(gpu.attention.cudnn->half_length ==
        Approx(2.028 * base.attention.cudnn->half_length).epsilon(0.001));
  // 1000 W / 2250 TFLOP/s are 0.628 of 700 W / 989.5 TFLOP/s, and 0.628^(1/2.5) = 0.830.
  CHECK(gpu.clock.products == Approx(0.830 * base.clock.products).epsilon(0.002));
  CHECK(gpu.clock.memory == 1);
  CHECK(gpu.power->idle == Approx(100));
  CHECK(static_cast<double>(gpu.capacity()) / (180 * 0x1p30) == Approx(79.1 / 80).epsilon(0.001));
  // A clock does not rise above that of single kernels, and stays the same if no power is given.
  CHECK(gpu_in("{" + sheet + ", like: h100-sxm, power: {compute: 5000 W}}").clock.products == 1);
  CHECK(gpu_in("{" + sheet + ", like: h100-sxm}").clock.products == base.clock.products);
}

TEST_CASE("a GPU has the data types of its own file", "[config]") {
  const Gpu plain = gpu_in("{" + sheet + ", like: b200}");
  CHECK(plain.products.nvfp4);  // the same peak in bf16: the same chip
  const Gpu faster = gpu_in(
      "{name: next, like: b200, flops: 3000 TFLOP/s, memory: 180 GiB, memory_bandwidth: 8 TB/s, "
      "products: {fp8: {flops: 9000 TFLOP/s}}}");
  CHECK_FALSE(faster.products.nvfp4);
  CHECK_FALSE(faster.products.tf32);
  CHECK(faster.products.mxfp8->flops == Approx(9000e12));  // twice the base's, as fp8
  // A type that the base lacks has the numbers of the nearest type.
  const Gpu four_bits =
      gpu_in("{" + sheet + ", like: h100-sxm, products: {nvfp4: {flops: 9 PFLOP/s}}}");
  CHECK(four_bits.products.nvfp4->efficiency ==
        find_gpu("h100-sxm").products.fp8_block->efficiency);
  CHECK_FALSE(four_bits.products.fp8);
  const Gpu other_four_bits =
      gpu_in("{" + sheet + ", like: b200, products: {mxfp4: {flops: 9 PFLOP/s}}}");
  CHECK(other_four_bits.products.mxfp4->efficiency == find_gpu("b200").products.nvfp4->efficiency);
}

TEST_CASE("numbers through a chain of GPUs name the GPU that states them", "[config]") {
  const Folder folder;
  folder.write("first.yaml", "{" + sheet + ", like: b200, kernel_overhead: 4 us}");
  const std::string second = folder.write("second.yaml", "{like: first.yaml, name: second}");
  const Gpu gpu = find_gpu(second);
  CHECK(gpu.kernel_overhead == Approx(4e-6));
  CHECK(source_of(gpu, "kernel_overhead") == "first");
  CHECK(source_of(gpu, "attention") == "b200");
  CHECK(gpu.flops == 2250e12);
}

TEST_CASE("derived numbers that are assumed in the other file stay assumed", "[config]") {
  const Gpu gpu = gpu_in("{" + sheet + ", like: h200, clock: {products: 0.8, attention: 0.8}}");
  CHECK(std::ranges::count(gpu.assumed, "kernel_overhead") == 1);
  CHECK(std::ranges::count(gpu.assumed, "clock") == 0);  // of the GPU's own file
  CHECK(std::ranges::count(unsourced_keys(gpu), "kernel_overhead") == 1);
}

TEST_CASE("faults of like are refused with advice", "[config]") {
  CHECK_THAT(error_of([] { gpu_in("{" + sheet + ", like: b20}"); }),
             Catch::Contains("gpu.like") && Catch::Contains("b200"));
  CHECK_THAT(error_of([] { gpu_in("{" + sheet + ", like: [b200]}"); }),
             Catch::Contains("gpu.like is a list; allowed: a name in the library of gpus"));
  CHECK_THAT(error_of([] { gpu_in("{" + sheet + ", like: b200, clock: 0.9}"); }),
             Catch::Contains("gpu.clock is 0.9"));
  CHECK_THAT(error_of([] { gpu_in("{" + sheet + ", like: b200, clocks: {products: 1}}"); }),
             Catch::Contains("clocks") && Catch::Contains("clock"));
  const Folder folder;
  const std::string file = folder.write("loop.yaml", "{" + sheet + ", like: loop.yaml}");
  CHECK_THAT(error_of([&] { find_gpu(file); }),
             Catch::Contains("'loop.yaml' derives from itself: loop.yaml -> loop.yaml"));
  CHECK_THAT(error_of([] { gpu_in("{" + sheet + ", derived: {b200: [clok]}}"); }),
             Catch::Contains("gpu.derived.b200") && Catch::Contains("keys of this file"));
}

TEST_CASE("a GPU with numbers of its maker alone is like the nearest measured GPU", "[config]") {
  const std::string rest = "memory: 80 GiB, memory_bandwidth: 2 TB/s, processors: 108}";
  CHECK(like_of("{flops: 312 TFLOP/s, " + rest, "a800") == "a100-80gb");
  CHECK(like_of("{products: {fp8: {flops: 2 PFLOP/s}}, flops: 1 PFLOP/s, memory: 80 GiB, "
                "memory_bandwidth: 3.35 TB/s, processors: 132}",
                "h800") == "h100-sxm");
  CHECK(like_of("{products: {fp8: {flops: 5 PFLOP/s}}, flops: 2500 TFLOP/s, memory: 288 GiB, "
                "memory_bandwidth: 8 TB/s, processors: 256}",
                "mi350x") == "mi300x");
  CHECK(like_of("{products: {fp8: {flops: 5 PFLOP/s}, mxfp4: {flops: 10 PFLOP/s}}, "
                "flops: 2500 TFLOP/s, memory: 288 GiB, memory_bandwidth: 8 TB/s, processors: 256}",
                "mi350x") == "mi355x");
  CHECK_THAT(like_of("{name: AMD Instinct, flops: 312 TFLOP/s, " + rest, ""),
             Catch::StartsWith("mi3"));
  CHECK(like_of("{like: none, flops: 312 TFLOP/s, " + rest, "a800") == "none");
  CHECK(like_of("{clock: {products: 0.9}, flops: 312 TFLOP/s, " + rest, "a800").empty());
  CHECK(like_of("{products: {bf16: {efficiency: 0.7}}, flops: 312 TFLOP/s, " + rest, "").empty());
  CHECK(like_of("{assumed: [clock], flops: 312 TFLOP/s, " + rest, "a800").empty());
  CHECK(gpu_in("{like: none, flops: 312 TFLOP/s, " + rest).derived.empty());
}

TEST_CASE("a measured key is neither assumed nor derived", "[config]") {
  Value tree = read_yaml_text(
      "{assumed: [clock, memory_efficiency], derived: {b200: [attention, clock.products], "
      "h200: [clock]}}",
      "g.yaml");
  mark_measured(tree, "clock.products");
  CHECK(find(tree, "assumed")->items.size() == 1);
  CHECK(texts_by_key(*find(tree, "derived"), "") ==
        std::map<std::string, std::string>{{"b200", "attention"}});
  mark_measured(tree, "attention.cudnn.forward");
  mark_measured(tree, "memory_efficiency");
  CHECK(tree.entries.empty());
}

TEST_CASE("a GPU with measured numbers derives none", "[config]") {
  const Gpu gpu = find_gpu("b200");
  CHECK(gpu.derived.empty());
  CHECK(name_with_sources(gpu) == "b200");
}

}  // namespace
}  // namespace pipewright::config::test
