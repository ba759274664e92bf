#include "sim/config/model.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/gpu.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

constexpr const char* small = "layers: 4, hidden: 64, heads: 8, vocabulary: 1000, sequence: 32";

Model model(const std::string& text) {
  const Value value = read_yaml_text(text, "m.yaml");
  return read_model({value, "model"});
}
Model with(const std::string& more) { return model("{" + std::string(small) + more + "}"); }

Gpu gpu(const std::string& text) {
  const Value value = read_yaml_text(text, "g.yaml");
  return read_gpu({value, "gpu"});
}

TEST_CASE("missing keys of a model have their defaults", "[model]") {
  const Model m = with("");
  CHECK(m.kv_heads == 8);
  CHECK(m.head_dim == 8);
  CHECK(m.ffn == 256);
  CHECK_FALSE(m.gated);
  CHECK(m.biases == Model::Biases::all);
  CHECK_FALSE(m.tied_embeddings);
  CHECK_FALSE(m.experts);
}

TEST_CASE("every key of a model is read", "[model]") {
  const Model m = with(
      ", kv_heads: 2, head_dim: 16, ffn: 100, mlp: swiglu, norm: rmsnorm, biases: false, "
      "dropout: 0.1, tied_embeddings: true, positions: learned, parameters: 1.5M, name: x, "
      "latent: {query_rank: 3, kv_rank: 4, nope_head_dim: 5, rope_head_dim: 6, value_head_dim: 7},"
      "experts: {count: 8, top_k: 2, ffn: 9, shared: 1, shared_ffn: 10, capacity_factor: 1.25, "
      "first_dense: 1, every: 2}");
  CHECK(m.kv_heads == 2);
  CHECK(m.head_dim == 16);
  CHECK(m.ffn == 100);
  CHECK(m.gated);
  CHECK(m.norm == Model::Norm::rmsnorm);
  CHECK(m.biases == Model::Biases::none);
  CHECK(m.dropout == 0.1);
  CHECK(m.tied_embeddings);
  CHECK(m.learned_positions);
  CHECK(m.published.value == 1.5e6);
  CHECK(m.name == "x");
  REQUIRE(m.latent);
  CHECK(m.latent->query_rank == 3);
  CHECK(m.latent->kv_rank == 4);
  CHECK(m.latent->nope_head_dim == 5);
  CHECK(m.latent->rope_head_dim == 6);
  CHECK(m.latent->value_head_dim == 7);
  REQUIRE(m.experts);
  CHECK(m.experts->count == 8);
  CHECK(m.experts->top_k == 2);
  CHECK(m.experts->ffn == 9);
  CHECK(m.experts->shared == 1);
  CHECK(m.experts->shared_ffn == 10);
  CHECK(m.experts->capacity_factor == 1.25);
  CHECK(m.experts->first_dense == 1);
  CHECK(m.experts->every == 2);
}

TEST_CASE("a model of the library has the name of its file", "[model]") {
  const Value name = make_text("mixtral-8x7b", {});
  const Model m = read_model({name, "model"});
  CHECK(m.name == "mixtral-8x7b");
  CHECK(m.experts->top_k == 2);
}

TEST_CASE("every fault of a model has a message with the allowed values", "[model]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {", kv_heads: 3",
       "m.yaml:1:77: kv_heads is 3, which does not divide the 8 heads; allowed: 2 "
       "or 4"},
      {", mlp: swiglu", "ffn is missing"},
      {", mlp: relu", "allowed: one of gelu, swiglu"},
      {", dropout: 1", "a part from 0 to 1"},
      {", heds: 3", "did you mean 'heads'?"},
      {", experts: {count: 4, ffn: 8, top_k: 5}",
       "experts.top_k is 5 of 4 experts; allowed: 1 to 4"},
      {", experts: {count: 4, ffn: 8, first_dense: 9}", "experts.first_dense is 9 of 4 layers"},
      {", experts: {count: 4, ffn: 8, capacity_factor: 0.5}", "a factor of at least 1"},
      {", experts: {count: 4, ffn: 8, capacity_factor: 5}",
       "experts.capacity_factor is 5, and one expert of 4 receives at most 4 times the mean; "
       "allowed: 1 to 4"},
      {", experts: {count: 4}", "model.experts.ffn is missing"},
      {", latent: {kv_rank: 4}", "model.latent.nope_head_dim is missing"},
      {", parameters: 8 billion", "such as 8.03B"},
  }));
  const std::string given = text;
  CHECK_THAT(error_of([&] { with(given); }), Catch::Contains(message));
  CHECK_THAT(
      error_of([] { model("{layers: 4, hidden: 100, heads: 7, vocabulary: 10, sequence: 8}"); }),
      Catch::Contains("heads is 7, which does not divide hidden (100); allowed: 5 or 10 "
                      "heads, or a head_dim"));
}

TEST_CASE("full attention in some layers needs a sliding window in other layers", "[model]") {
  CHECK(with(", sliding_window: 128, full_attention_every: 2").sliding_window == 128);
  CHECK_THAT(error_of([] { with(", full_attention_every: 2"); }),
             Catch::Contains("full_attention_every needs sliding_window"));
}

TEST_CASE("rates of a GPU have units and its efficiencies have defaults", "[model]") {
  const Gpu g =
      gpu("{like: none, flops: 312 TFLOP/s, memory: 80 GiB, memory_bandwidth: 2039 GB/s, "
          "processors: 108}");
  CHECK(g.flops == Approx(312e12));
  CHECK(g.memory == std::uint64_t{80} << 30U);
  CHECK(g.memory_bandwidth == Approx(2.039e12));
  CHECK(g.processors == 108);
  CHECK(g.products.bf16->flops == Approx(312e12));
  CHECK(g.products.fp16->flops == Approx(312e12));
  CHECK(g.capacity() == g.memory);
  CHECK(g.clock.products == 1);
  const Gpu other =
      gpu("{flops: 1.25e14, memory: 17e9, free_memory: 16e9, memory_bandwidth: 9e11, "
          "processors: 80, kernel_overhead: 0, products: {bf16: {efficiency: 0.5}, fp8: {flops: 2 "
          "PFLOP/s}}}");
  CHECK(other.kernel_overhead == 0);
  CHECK(other.capacity() == 16'000'000'000U);
  CHECK(products_of(other, DataType::bf16).efficiency == 0.5);
  CHECK(products_of(other, DataType::fp8).flops == Approx(2e15));
}

TEST_CASE("a GPU lists the data types of its products", "[model]") {
  const std::string rest =
      "flops: 312 TFLOP/s, memory: 80 GiB, memory_bandwidth: 2039 GB/s, processors: 108}";
  const Gpu g = gpu("{name: old, " + rest);
  CHECK_THAT(error_of([&] { products_of(g, DataType::mxfp8); }),
             Catch::Contains("the GPU 'old' has no mxfp8 products; allowed: bf16, fp16"));
  CHECK_THAT(error_of([&] { gpu("{products: {fp8: {efficiency: 0.5}}, " + rest); }),
             Catch::Contains("g.yaml:1:18: gpu.products.fp8.flops is missing"));
  CHECK(gpu("{assumed: [products.fp8, clock], " + rest).assumed.size() == 2);
  CHECK_THAT(error_of([&] { gpu("{assumed: [product.fp8], " + rest); }),
             Catch::Contains("g.yaml:1:12: gpu.assumed[0] is the text 'product.fp8'; allowed: "
                             "keys of this file"));
}

TEST_CASE("every fault of a GPU has a message", "[model]") {
  const std::string rest = "memory: 80 GiB, memory_bandwidth: 2039 GB/s, processors: 108}";
  CHECK_THAT(error_of([&] { gpu("{flops: 312 TFLOPS, " + rest); }),
             Catch::Contains("g.yaml:1:9: gpu.flops"));
  CHECK_THAT(error_of([&] { gpu("{" + rest); }), Catch::Contains("gpu.flops is missing"));
  CHECK_THAT(error_of([&] { gpu("{flops: 1e12, memory_efficiency: 1.2, " + rest); }),
             Catch::Contains("gpu.memory_efficiency is 1.2; allowed: a part above 0 and at most "
                             "1, such as 0.85"));
  CHECK_THAT(error_of([] { find_gpu("a100"); }), Catch::Contains("a100-80gb"));
}

TEST_CASE("numbers of a GPU are limited to realistic ranges", "[model]") {
  const auto fault = [](const std::string& more) {
    return error_of([&] {
      gpu("{flops: 312 TFLOP/s, memory: 80 GiB, memory_bandwidth: 2039 GB/s, processors: 108, " +
          more + "}");
    });
  };
  using Catch::Contains;
  CHECK_THAT(fault("kernel_overhead: 140"),
             Contains("gpu.kernel_overhead is 140 (a bare number is in seconds); did you mean '140 "
                      "us'? allowed: an overhead from 0 to 10 ms, such as 5 us"));
  CHECK_THAT(fault("kernel_overhead: 1 h"),
             Contains("gpu.kernel_overhead is 1 h; allowed: an overhead from 0 to"));
  CHECK_THAT(fault("clock: {products: 3}"),
             Contains("gpu.clock.products is 3; allowed: a part above 0 and at most 2, such as"));
  CHECK_THAT(fault("clock: {products: -0.79}"),
             Contains("gpu.clock.products is -0.79; allowed: a part above 0"));
  CHECK_THAT(fault("attention: {fa2: {forward: 0}}"),
             Contains("gpu.attention.fa2.forward is 0; allowed: a part above 0 and at most 1"));
  CHECK_THAT(fault("attention: {unfused: 1.2}"),
             Contains("gpu.attention.unfused is 1.2; allowed: a part above 0 and at most 1"));
  CHECK_THAT(
      fault("free_memory: 96 GiB"),
      Contains(
          "gpu.free_memory is more than gpu.memory; allowed: the free memory that CUDA reports"));
  CHECK_THAT(fault("products: {fp8: {flops: 19.79 TFLOP/s}}"),
             Contains("gpu.products.fp8.flops is 19.79 TFLOP/s, less than half of the 312 TFLOP/s "
                      "of bf16"));
  CHECK(
      fault(
          "products: {fp8: {flops: 300 TFLOP/s, cast: 0.0}}, attention: {cudnn: {half_length: 0}}, "
          "free_memory: 80 GiB, clock: {memory: 1.2}, kernel_overhead: 140 us")
          .empty());
  CHECK_THAT(error_of([] {
               gpu("{flops: 312 TFLOP/s, memory: 80 GiB, memory_bandwidth: 2039 GB/s, processors: "
                   "1000000000}");
             }),
             Contains("allowed: a whole number from 1 to 10000, such as 108"));
}

TEST_CASE("numbers without a GPU are refused with advice", "[model]") {
  CHECK_THAT(error_of([] { gpu("{clock: {products: 0.395}}"); }),
             Catch::Contains("g.yaml:1:9: gpu.clock changes a GPU, but no GPU is named; name the "
                             "GPU or its file too, as in --gpu h100-sxm"));
}

TEST_CASE("a bare number in the wrong unit is refused with the likely unit", "[model]") {
  const auto fault = [](std::string_view flops, std::string_view memory,
                        std::string_view bandwidth) {
    const std::string text = "{flops: " + std::string(flops) + ", memory: " + std::string(memory) +
                             ", memory_bandwidth: " + std::string(bandwidth) + ", processors: 108}";
    return error_of([&] { gpu(text); });
  };
  CHECK(fault("312e12", "80e9", "2039e9").empty());
  CHECK(fault("989.5", "80 GiB", "2039 GB/s") ==
        "g.yaml:1:9: gpu.flops is 989.5 (a bare number is in FLOP/s); did you mean '989.5 "
        "TFLOP/s'? allowed: a GPU's speed from 1 TFLOP/s to 1e6 TFLOP/s, such as 312 TFLOP/s");
  CHECK_THAT(fault("312 TFLOP/s", "80", "2039 GB/s"), Catch::Contains("did you mean '80 GiB'?"));
  CHECK_THAT(fault("312 TFLOP/s", "80 GiB", "2000"), Catch::Contains("did you mean '2000 GB/s'?"));
  CHECK_THAT(fault("312 TFLOP/s", "0", "2039 GB/s"),
             Catch::Contains("gpu.memory is 0; allowed: a GPU's memory from 1 GiB"));
  CHECK_THAT(fault("100 TFLOPS", "80 GiB", "2039 GB/s"),
             Catch::Contains("'TFLOPS' is no unit of a rate; did you mean 'TFLOP/s'? allowed: a "
                             "GPU's speed from 1 TFLOP/s"));
  CHECK_THAT(fault("-100 TFLOP/s", "80 GiB", "2039 GB/s"),
             Catch::Contains("gpu.flops is -100 TFLOP/s"));
  CHECK_THAT(fault("1e-300", "80 GiB", "2039 GB/s"), Catch::Contains("gpu.flops is 1e-300"));
  CHECK_THAT(fault("1e30", "80 GiB", "2039 GB/s"), Catch::Contains("from 1 TFLOP/s"));
  CHECK_THAT(fault("1 TFLOP/s", "2e6 GiB", "2039 GB/s"), Catch::Contains("to 1e6 GiB"));
  CHECK(gpu("{flops: 1 PFLOP/s, memory: 80 GiB, memory_bandwidth: 16000 Gbit/s, processors: 1}")
            .memory_bandwidth == Approx(2e12));
  CHECK_THAT(
      error_of([] {
        gpu("{flops: 1 PFLOP/s, memory: 80 GiB, memory_bandwidth: 2 TB/s, processors: 1, "
            "attention: {fa2: {half_length: 1e300}}}");
      }),
      Catch::Contains("gpu.attention.fa2.half_length is 1e300; allowed: a number of at most 1e6"));
}

TEST_CASE("sizes far above those of any model are refused", "[model]") {
  const std::string huge =
      GENERATE(as<std::string>(), "hidden", "heads", "ffn", "layers", "vocabulary", "sequence");
  std::string text = "layers: 4, hidden: 64, heads: 8, vocabulary: 10, sequence: 8, ffn: 8,";
  const std::size_t at = text.find(huge + ": ") + huge.size() + 2;
  text.replace(at, text.find(',', at) - at, "2147483648");
  CHECK_THAT(
      error_of([&] { model("{" + text + "}"); }),
      Catch::Contains("model." + huge + " is 2147483648; allowed: a whole number of at most"));
  for (const std::string inner : {"experts: {count: 2147483648, ffn: 8}", "head_dim: 2147483648",
                                  "latent: {kv_rank: 2147483648, nope_head_dim: 1, "
                                  "rope_head_dim: 1, value_head_dim: 1}"})
    CHECK_THAT(error_of([&] { with(", " + inner); }), Catch::Contains("far above any model's"));
  // The default feed-forward size of the largest allowed hidden size, four times as much, fits into
  // 32 bits.
  CHECK(model("{layers: 1, hidden: 1048576, heads: 1, vocabulary: 1, sequence: 1}").ffn == 4194304);
}

TEST_CASE("every GPU of the library has the keys that a run needs", "[model]") {
  for (const char* const name : {"a100-40gb", "a100-80gb", "h100-sxm", "h200", "b200", "gb200",
                                 "v100-16gb", "v100-32gb", "mi300x", "l40s"}) {
    INFO(name);
    const Gpu g = find_gpu(name);
    CHECK(g.name == name);
    CHECK(g.flops > 1e14);
    CHECK(g.memory >= 16'000'000'000U);
    CHECK(g.memory_bandwidth > 8e11);
    CHECK(g.processors >= 80);
  }
}

}  // namespace
}  // namespace pipewright::config::test
