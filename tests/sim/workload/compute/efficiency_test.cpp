#include "sim/workload/compute/efficiency.hpp"

#include <random>

#include <catch2/catch.hpp>

using namespace pipewright;
using workload::Kernel;

namespace {

// Returns a GPU with 1 PFLOP/s on 8 processors and no overheads.
config::Gpu ideal() {
  config::Gpu gpu{.name = "ideal", .flops = 1e15, .memory = 1, .memory_bandwidth = 1e30};
  gpu.processors = 8;
  gpu.memory_efficiency = 1;
  gpu.products.bf16 = config::Products{.flops = 1e15, .efficiency = 1, .wave = 0, .overhead = 0};
  gpu.kernel_overhead = 0;
  return gpu;
}

Kernel product(double rows, double columns, double inner, double count = 1) {
  return {.name = "product",
          .work = count > 1 ? Kernel::Work::grouped : Kernel::Work::product,
          .rows = rows,
          .columns = columns,
          .inner = inner,
          .count = count,
          .bytes = count * 2 * (inner * (rows + columns) + rows * columns)};
}

double seconds(const config::Gpu& gpu, const Kernel& kernel) {
  return kernel_time(kernel, gpu).seconds;
}

}  // namespace

TEST_CASE("a product runs at the peak rate if its tiles fill the processors", "[model]") {
  config::Gpu gpu = ideal();
  CHECK(seconds(gpu, product(2048, 4096, 1024)) == Approx(2.0 * 2048 * 4096 * 1024 / 1e15));
  gpu.products.bf16->efficiency = 0.5;
  CHECK(seconds(gpu, product(2048, 4096, 1024)) == Approx(4.0 * 2048 * 4096 * 1024 / 1e15));
}

TEST_CASE("a last wave that is not full costs half of what it leaves idle", "[model]") {
  const config::Gpu gpu = ideal();
  const double wave = 8 * 2.0 * 128 * 128 * 512 / 1e15;
  const auto tiles = [&](double count) { return seconds(gpu, product(128, 128 * count, 512)); };
  CHECK(tiles(8) == Approx(wave));
  CHECK(tiles(16) == Approx(2 * wave));
  CHECK(tiles(12) == Approx(1.75 * wave));
  CHECK(tiles(9) == Approx((2 + 9.0 / 8) / 2 * wave));
  // A partial tile takes as long as a whole one.
  CHECK(seconds(gpu, product(1, 128 * 8, 512)) == Approx(wave));
}

TEST_CASE("a cast to a type with a scale for each block takes as much longer as kernel tables say",
          "[model]") {
  config::Gpu gpu = ideal();
  gpu.memory_bandwidth = 1e12;
  // A cast reads 2 bytes and writes 1 byte and 1/32 byte of scales for each element.
  const double ideal_bytes = 2 + config::element_bytes(config::DataType::mxfp8);
  gpu.products.mxfp8 = config::Products{.flops = 1e15, .efficiency = 1, .cast = 1.4 * ideal_bytes};
  gpu.products.fp8 = gpu.products.mxfp8;
  const auto cast_to = [&](config::DataType type) {
    return seconds(gpu, {.name = "cast", .type = type, .bytes = 4e9});
  };
  CHECK(cast_to(config::DataType::mxfp8) == Approx(1.4 * 4e-3));
  CHECK(cast_to(config::DataType::fp8) == Approx(4e-3));
  CHECK(seconds(gpu, {.name = "norm", .type = config::DataType::mxfp8, .bytes = 4e9}) ==
        Approx(4e-3));
  // Tables with less than the bytes that a cast must move do not make it faster.
  gpu.products.mxfp8->cast = 2;
  CHECK(cast_to(config::DataType::mxfp8) == Approx(4e-3));
}

TEST_CASE("few tiles are cut along the inner dimension, down to 512 steps", "[model]") {
  const config::Gpu gpu = ideal();
  const double step = 8 * 2.0 * 128 * 128 / 1e15;
  CHECK(seconds(gpu, product(128, 256, 8192)) == Approx(2048 * step));  // 2 tiles in 4 parts each
  CHECK(seconds(gpu, product(128, 128, 2048)) == Approx(512 * step));
  CHECK(seconds(gpu, product(128, 128, 256)) == Approx(256 * step));
}

TEST_CASE("each wave and each kernel has an overhead, grouped products one per kernel", "[model]") {
  config::Gpu gpu = ideal();
  gpu.products.bf16->wave = 1e-6;
  gpu.products.bf16->overhead = 1e-3;
  const double wave = 8 * 2.0 * 128 * 128 * 512 / 1e15;
  CHECK(seconds(gpu, product(128, 1024, 512, 4)) == Approx(1e-3 + 4 * (wave + 1e-6)));
  // At half of the clock, the work of the processors takes twice as long, but not the constant
  // overhead.
  gpu.clock.products = 0.5;
  CHECK(seconds(gpu, product(128, 1024, 512, 4)) == Approx(1e-3 + 8 * (wave + 1e-6)));
}

TEST_CASE("grouped products use their own numbers or else those of single products", "[model]") {
  config::Gpu gpu = ideal();
  const double wave = 8 * 2.0 * 128 * 128 * 512 / 1e15;
  CHECK(seconds(gpu, product(128, 1024, 512, 4)) == Approx(4 * wave));
  gpu.products.bf16->grouped =
      config::GroupedProducts{.efficiency = 0.5, .wave = 2e-6, .overhead = 1e-3};
  CHECK(seconds(gpu, product(128, 1024, 512, 4)) == Approx(1e-3 + 4 * (2 * wave + 2e-6)));
  CHECK(seconds(gpu, product(128, 1024, 512)) == Approx(wave));
  // With only one row per expert, reading the weights from memory takes most of the time.
  gpu.memory_bandwidth = 1e12;
  const Kernel thin = product(1, 1024, 512, 4);
  CHECK(kernel_time(thin, gpu).bound == workload::Bound::overhead);
  gpu.products.bf16->grouped->overhead = 0;
  gpu.memory_bandwidth = 1e11;
  CHECK(kernel_time(thin, gpu).bound == workload::Bound::memory);
  CHECK(seconds(gpu, thin) == Approx(4 * 2.0 * (512 + 512 * 1024 + 1024) / 1e11));
}

TEST_CASE("a product is never faster than memory allows, and reports its bound", "[model]") {
  config::Gpu gpu = ideal();
  CHECK(kernel_time(product(1024, 1024, 1024), gpu).bound == workload::Bound::compute);
  gpu.memory_bandwidth = 1e9;
  gpu.memory_efficiency = 0.5;
  const workload::KernelTime time = kernel_time(product(128, 256, 64), gpu);
  CHECK(time.seconds == Approx((2.0 * 64 * (128 + 256) + 2.0 * 128 * 256) / 0.5e9));
  CHECK(time.bound == workload::Bound::memory);
  gpu.products.bf16->overhead = 1;
  CHECK(kernel_time(product(128, 256, 64), gpu).bound == workload::Bound::overhead);
}

TEST_CASE("larger products take no less time, and none exceeds the peak", "[model]") {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> size(1, 9000);
  for (const char* const name : {"a100-80gb", "h100-sxm", "b200", "gb300"}) {
    const config::Gpu gpu = config::find_gpu(name);
    for (int i = 0; i < 500; ++i) {
      const Kernel kernel = product(size(random), size(random), size(random));
      const double time = seconds(gpu, kernel);
      CAPTURE(name, kernel.rows, kernel.columns, kernel.inner);
      CHECK(time > 2 * kernel.rows * kernel.columns * kernel.inner / gpu.flops);
      CHECK(time > kernel.bytes / gpu.memory_bandwidth);
      CHECK(seconds(gpu, product(kernel.rows + size(random), kernel.columns, kernel.inner)) >=
            time);
      CHECK(seconds(gpu, product(kernel.rows, kernel.columns + size(random), kernel.inner)) >=
            time);
      CHECK(seconds(gpu, product(kernel.rows, kernel.columns, kernel.inner + size(random))) >=
            time);
    }
  }
}

TEST_CASE("fused attention approaches its rate with length and with the size of a head",
          "[model]") {
  config::Gpu gpu = ideal();
  gpu.attention.fa2 = {.forward = 0.5, .backward = 0.25, .half_length = 1000};
  Kernel kernel{.work = Kernel::Work::attention, .flops = 1e12, .keys = 1000};
  CHECK(seconds(gpu, kernel) == Approx(4e-3));
  kernel.keys = 3000;
  CHECK(seconds(gpu, kernel) == Approx(1e-3 / 0.375));
  kernel.backward = true;
  CHECK(seconds(gpu, kernel) == Approx(2e-3 / 0.375));
  // The exponentials of a pair take as long as products of 60 elements, so with heads of 64 instead
  // of 128 elements the time per FLOP is (64 + 60) / 64 instead of (128 + 60) / 128.
  kernel.head = 64;
  CHECK(seconds(gpu, kernel) == Approx(2e-3 / 0.375 * (124.0 / 64) / (188.0 / 128)));
}

TEST_CASE("scores that are not aligned do not run on tensor cores", "[model]") {
  config::Gpu gpu = ideal();
  gpu.attention.unfused = 0.5;
  const auto scores = [&](bool aligned) {
    return seconds(gpu, {.work = Kernel::Work::scores,
                         .rows = 2048,
                         .columns = 2048,
                         .inner = 128,
                         .count = 8,
                         .aligned = aligned});
  };
  CHECK(scores(false) == Approx(16 * scores(true)));
}

TEST_CASE("scores in TF32 that are not aligned lose less than in bf16, and none in fp32",
          "[model]") {
  config::Gpu gpu = ideal();
  gpu.products.tf32 = gpu.products.fp32 = gpu.products.bf16;
  const auto slowdown = [&](config::DataType type) {
    Kernel kernel{.work = Kernel::Work::scores,
                  .type = type,
                  .rows = 2048,
                  .columns = 2048,
                  .inner = 128,
                  .count = 8,
                  .aligned = false};
    const double apart = seconds(gpu, kernel);
    kernel.aligned = true;
    return apart / seconds(gpu, kernel);
  };
  CHECK(slowdown(config::DataType::tf32) == Approx(8));
  CHECK(slowdown(config::DataType::fp32) == Approx(1));
}

TEST_CASE("heads whose keys and values differ may have a slower backward kernel", "[model]") {
  config::Gpu gpu = ideal();
  gpu.attention.fa2 = {.forward = 0.5, .backward = 0.25, .half_length = 1000};
  Kernel kernel{.work = Kernel::Work::attention,
                .flops = 1e12,
                .keys = 3000,
                .head = 160,
                .is_uneven = true,
                .backward = true};
  const double as_others = seconds(gpu, kernel);
  gpu.attention.fa2->uneven_backward = 0.1;
  CHECK(seconds(gpu, kernel) == Approx(1e-3 / (0.1 * 0.75)));
  kernel.is_uneven = false;
  CHECK(seconds(gpu, kernel) == Approx(as_others));
  kernel.is_uneven = true;
  kernel.backward = false;
  CHECK(seconds(gpu, kernel) == Approx(as_others / 2));
}
