#include <sstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/gpu.hpp"
#include "sim/config/text/yaml.hpp"
#include "support/program.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"

using namespace pipewright;

namespace {

const std::string scenario =
    "model: {layers: 4, hidden: 2048, heads: 16, ffn: 8192, vocabulary: 32000, sequence: 2048}\n"
    "devices: 1\nmicrobatches: 8\nengine: timing\n";

// Returns a profile of two steps, each with 80 ms of products, 12 ms of attention and 20 ms of
// other kernels. The host launches a kernel every 8 us.
std::string profile(int rank) {
  test::ChromeText text;
  for (int step = 0; step < 2; ++step) {
    const double start = 100'000.0 * step;
    text.add(fmt::format("ProfilerStep#{}", step), start, 90'000, "user_annotation", 1, 1);
    text.add("ampere_bf16_s16816gemm_bf16_128x128", start, 50'000, "kernel");
    text.add("nvjet_hsh_128x256", start + 20'000, 30'000, "kernel");
    text.add("flash_fwd_kernel", start + 30'000, 12'000, "kernel");
    text.add("layer_norm_fwd", start + 42'000, 20'000, "kernel");
    text.add("ncclDevKernel_AllGather", start, 50'000, "kernel", 0, 20);
    text.add("multi_tensor_apply_kernel", start + 70'000, 5'000, "kernel");
    for (int kernel = 0; kernel < 4; ++kernel)
      text.add("cudaLaunchKernel", start + 8 * kernel, 3, "cuda_runtime", 1, 1);
  }
  return text.text(rank);
}

struct Printed {
  double kernels = 0, modelled_kernels = 0, ms = 0, modelled_ms = 0, factor = 0;
};

// Parses the row with this name in the table that `profile --calibrate` prints.
Printed row(const std::string& out, const std::string& name) {
  const std::size_t place = out.find("\n" + name + " ");
  REQUIRE(place != std::string::npos);
  std::istringstream words(out.substr(place + 1 + name.size()));
  Printed cells;
  words >> cells.kernels >> cells.modelled_kernels >> cells.ms >> cells.modelled_ms >> cells.factor;
  return cells;
}

tests::ProgramResult calibrated(const tests::CommandFolder& place, const std::string& gpu) {
  place.write("gpt.yaml", scenario + "gpu: " + gpu + "\n");
  place.write("rank0.json", profile(0));
  tests::ProgramResult ran =
      place.run("profile rank0.json --calibrate gpt.yaml --gpu-file my.yaml");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return ran;
}

}  // namespace

TEST_CASE("kernels of a profile are compared with the model by kind", "[cli]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = calibrated(place, "a100-80gb");
  CAPTURE(ran.out);
  for (const auto& [name, kernels, ms] :
       {std::tuple{"products", 2, 80}, {"attention", 1, 12}, {"memory-bound", 1, 20}}) {
    const Printed printed = row(ran.out, name);
    CHECK(printed.kernels == kernels);
    CHECK(printed.ms == ms);
    CHECK(printed.factor == Approx(printed.ms / printed.modelled_ms).epsilon(0.002));
  }
  // 4 layers and 8 microbatches each have one fused attention kernel forward and one backward.
  CHECK(row(ran.out, "attention").modelled_kernels == 4 * 8 * 2);
  // Kernels of communication and of the optimizer are not modelled, so the row has no prediction.
  CHECK_THAT(ran.out, Catch::Matches("[^]*\nnot compared +2 +- +55 [^]*"));
}

TEST_CASE("on the calibrated GPU, the modelled kernels take the measured time", "[cli]") {
  const tests::CommandFolder place;
  calibrated(place, "a100-80gb");
  const std::string first = place.read("my.yaml");
  CHECK_THAT(first, Catch::Contains("# a100-80gb, calibrated") && Catch::Contains("flops: 312"));
  const tests::ProgramResult again = calibrated(place, "my.yaml");
  CAPTURE(again.out, first);
  for (const char* const name : {"products", "attention", "memory-bound"})
    CHECK(row(again.out, name).factor == Approx(1).margin(0.002));
  // Calibrating the calibrated GPU again does not change its clock.
  const auto clock = [&](const std::string& text) { return text.substr(text.find("clock:"), 60); };
  CHECK(clock(place.read("my.yaml")) == clock(first));
}

TEST_CASE("clocks of data types keep their proportion", "[cli]") {
  const tests::CommandFolder place;
  const auto clocks = [](const std::string& name) {
    const config::Gpu gpu = config::read_gpu({config::make_text(name, {}), "gpu"});
    return std::pair(gpu.clock.products, gpu.products.fp8->clock.value());
  };
  const auto [products, fp8] = clocks("b200");
  const tests::ProgramResult ran = calibrated(place, "b200");
  CHECK_THAT(ran.out, Catch::Contains("clocks of single data types scale with the clock of "
                                      "products: fp8 0.8"));
  const auto [now, fp8_now] = clocks((place.folder() / "my.yaml").string());
  CHECK(now != products);
  CHECK(fp8_now / now == Approx(fp8 / products).epsilon(1e-3));
}

TEST_CASE("the launch time is scaled by the number of kernels per modelled kernel", "[cli]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = calibrated(place, "a100-80gb");
  double modelled = 0;
  for (const char* const name : {"products", "attention", "memory-bound"})
    modelled += row(ran.out, name).modelled_kernels;
  // The profile has 4 kernels per iteration, launched 8 us apart. The launch time spreads this over
  // the modelled kernels.
  CAPTURE(ran.out);
  CHECK_THAT(ran.out, Catch::Contains(
                          fmt::format("--set stack.host.kernel='{:.4g} us'\n", 8 * 4 / modelled)));
  // The time belongs to the stack, so the file of the GPU does not have it.
  CHECK_THAT(place.read("my.yaml"), !Catch::Contains("launch") && !Catch::Contains("host.kernel"));
}

TEST_CASE("products faster than the modelled overheads are noted", "[cli]") {
  const tests::CommandFolder place;
  place.write("gpt.yaml", scenario + "gpu: a100-80gb\n");
  test::ChromeText text;
  text.add("ProfilerStep#0", 0, 100, "user_annotation", 1, 1).add("a_gemm", 0, 10, "kernel");
  place.write("rank0.json", text.text(0));
  const tests::ProgramResult ran =
      place.run("profile rank0.json --calibrate gpt.yaml --gpu-file my.yaml");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out,
             Catch::Contains("note: no value of clock.products makes the model's products take"));
  CHECK_THAT(ran.out, Catch::Contains("host: no launches of single kernels"));
  CHECK_THAT(place.read("my.yaml"), Catch::Contains("products: 2\n"));
  CHECK_THAT(ran.out, !Catch::Contains("stack.host.kernel"));
}

TEST_CASE("an implausible clock is noted", "[cli]") {
  const tests::CommandFolder place;
  // The GPU has no overheads and very fast memory, so that the time of products is inversely
  // proportional to its `flops`.
  const auto with_peak = [&](double teraflops) {
    return calibrated(place, fmt::format("{{flops: {:.6f} TFLOP/s, memory: 80 GiB, "
                                         "memory_bandwidth: 900 TB/s, processors: 1, products: "
                                         "{{bf16: {{wave: 0 s, overhead: 0 s}}}}}}",
                                         teraflops))
        .out;
  };
  const double at_hundred = row(with_peak(100), "products").modelled_ms;
  CHECK_THAT(with_peak(100 * at_hundred / 80), !Catch::Contains("note: clock.products"));
  CHECK_THAT(with_peak(100 * at_hundred / (1.3 * 80)),
             Catch::Contains("note: clock.products is 1.3: the measured products are faster"));
}

TEST_CASE("inputs that cannot be calibrated are refused with a remedy", "[cli]") {
  const tests::CommandFolder place;
  place.write("gpt.yaml", scenario + "gpu: a100-80gb\n");
  place.write("times.yaml", "devices: 1\nmicrobatches: 8\nforward_times: 1\nbackward_times: 2\n");
  place.write("rank0.json", profile(0));
  place.write("rank9.json", profile(9));
  place.write("no-rank.json", profile(-1));
  const auto fails = [&](const std::string& words, const std::string& with) {
    const tests::ProgramResult ran = place.run("profile " + words);
    CAPTURE(words, ran.err, ran.out);
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, Catch::Contains(with));
  };
  const std::string out = " --gpu-file my.yaml";
  fails("rank0.json --calibrate gpt.yaml", "--calibrate and --gpu-file of profile go together");
  fails("rank0.json --calibrate times.yaml" + out,
        "times.yaml: --calibrate needs a scenario with a model");
  fails("rank9.json --calibrate gpt.yaml" + out, "its rank is 9, but the scenario has 1 GPUs");
  fails("no-rank.json rank0.json --calibrate gpt.yaml" + out, "has no rank");
  fails("rank0.json --calibrate gpt.yaml --order o.csv" + out, "--order does not apply to");
  fails("rank0.json --calibrate gpt.yaml --skip 1" + out, "--skip does not apply to");
  CHECK(place.run("profile no-rank.json --calibrate gpt.yaml" + out).status == 0);
}
