#include <fstream>
#include <regex>
#include <set>

#include <catch2/catch.hpp>

#include "sim/config/gpu.hpp"
#include "sim/config/published_range.hpp"
#include "sim/config/text/library.hpp"

using namespace pipewright::config;

namespace {

double peak(const Gpu& gpu, DataType type) { return products_of(gpu, type).flops; }

Value tree_of(const std::string& name) { return gpu_tree({make_text(name, {}), "gpu"}); }

// GPUs whose products in 8 bits run at another rate than twice that of 16 bits.
double rate_of_8_bits(const std::string& gpu) {
  if (gpu == "mi455x") return 4;     // CDNA 5 white paper
  if (gpu == "vr200") return 4.275;  // 17.1 of 4 PFLOP/s
  return 2;
}

}  // namespace

TEST_CASE("every GPU of the library has its free memory and the speed of its products",
          "[config]") {
  for (const std::string& name : library_names("gpus", ".yaml")) {
    CAPTURE(name);
    const Gpu gpu = find_gpu(name);
    REQUIRE(gpu.free_memory);
    // Some vendors state memory in GB and others in GiB, which differ by 7 %.
    CHECK(static_cast<double>(gpu.capacity()) == Approx(gpu.memory).epsilon(0.1));
    CHECK(peak(gpu, DataType::bf16) == gpu.flops);
    CHECK(peak(gpu, DataType::fp16) == gpu.flops);
    if (gpu.products.tf32) CHECK(gpu.products.tf32->flops == Approx(gpu.flops / 2).epsilon(0.02));
    if (gpu.products.fp32) CHECK(gpu.products.fp32->flops <= gpu.flops / 2 * 1.02);
    if (gpu.products.fp8)
      CHECK(gpu.products.fp8->flops == Approx(rate_of_8_bits(name) * gpu.flops).epsilon(0.02));
    CHECK(!gpu.architecture.empty());
    const AttentionRates& rates = rates_of(gpu, attention_kernel_of(gpu, {}));
    CHECK(rates.backward <= rates.forward);
  }
}

TEST_CASE("every GPU of the library states the data of its maker with a source", "[config]") {
  for (const std::string& name : library_names("gpus", ".yaml")) {
    CAPTURE(name);
    const Value tree = tree_of(name);
    const Value* const source = find(tree, "source");
    REQUIRE(source != nullptr);
    CHECK(std::regex_search(source->text, std::regex("20[0-9]{2}")));
    for (const char* const key : {"flops", "memory", "memory_bandwidth", "processors"})
      CHECK(find(tree, key) != nullptr);
    std::ifstream file(library_file("gpus", name, ".yaml"));
    std::string head;
    std::getline(file, head);
    CHECK(head.starts_with("# "));
  }
}

TEST_CASE("GPUs with the silicon of another have its numbers", "[config]") {
  for (const auto& [name, like] : {std::pair{"h800", "h100-sxm"}, {"a800", "a100-80gb"}}) {
    CAPTURE(name);
    Gpu gpu = find_gpu(name);
    const Gpu same = find_gpu(like);
    CHECK(!gpu.derived.empty());
    CHECK(gpu.products == same.products);
    CHECK(gpu.attention == same.attention);
    CHECK(gpu.clock == same.clock);
    CHECK(gpu.memory_bandwidth == same.memory_bandwidth);
    CHECK(gpu.memory_efficiency == same.memory_efficiency);
  }
}

TEST_CASE("GPUs with less compute or power than their relatives have their own peaks", "[config]") {
  CHECK(find_gpu("h20").clock.products == 1);  // 500 W are enough for a seventh of the H100's work
  CHECK(find_gpu("h100-pcie").clock.products < find_gpu("h100-sxm").clock.products);
  CHECK(find_gpu("rtx-4090").flops == 165.2e12);  // with sums in 32 bits
  CHECK(peak(find_gpu("h20"), DataType::fp8_block) == 296e12);
  CHECK(peak(find_gpu("mi350x"), DataType::mxfp8) == Approx(4613.7e12));
  CHECK_THROWS_AS(products_of(find_gpu("a40"), DataType::fp8), Error);
  CHECK_THROWS_AS(products_of(find_gpu("a10"), DataType::fp8), Error);
  CHECK_THROWS_AS(products_of(find_gpu("mi455x"), DataType::nvfp4), Error);
}

TEST_CASE("only GPUs that are not sold yet have ranges of published values", "[config]") {
  std::set<std::string> ranged;
  for (const std::string& name : library_names("gpus", ".yaml"))
    if (!published_ranges(tree_of(name)).empty()) ranged.insert(name);
  CHECK(ranged == std::set<std::string>{"mi455x", "vr200"});
}

TEST_CASE("GPUs of the library have the data types of their makers", "[config]") {
  CHECK_THROWS_WITH(products_of(find_gpu("a100-80gb"), DataType::fp8),
                    Catch::Contains("a100-80gb") && Catch::Contains("bf16, fp16, tf32"));
  CHECK_THROWS_AS(products_of(find_gpu("h100-sxm"), DataType::mxfp8), Error);
  CHECK_THROWS_AS(products_of(find_gpu("h200"), DataType::nvfp4), Error);
  CHECK_THROWS_AS(products_of(find_gpu("mi355x"), DataType::nvfp4), Error);
  for (const auto& [name, fp4] : {std::pair{"b200", 2}, {"gb200", 2}, {"b300", 3}, {"gb300", 3}}) {
    const Gpu gpu = find_gpu(name);
    CAPTURE(name);
    CHECK(peak(gpu, DataType::nvfp4) == Approx(fp4 * peak(gpu, DataType::fp8)));
    CHECK(peak(gpu, DataType::mxfp8) == peak(gpu, DataType::fp8));
  }
}

TEST_CASE("the two H100 differ only in memory and power limit", "[config]") {
  const Gpu usual = find_gpu("h100-sxm");
  const Gpu limited = find_gpu("h100-sxm-96gb");
  CHECK(limited.flops == usual.flops);
  CHECK(limited.processors == usual.processors);
  CHECK(limited.capacity() > usual.capacity());
  CHECK(limited.memory_bandwidth < usual.memory_bandwidth);
  CHECK(limited.clock.products <= usual.clock.products);
}
