#include "sim/config/training.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

Training training(const std::string& text) {
  const Value value = read_yaml_text(text, "t.yaml");
  return read_training({value, "training"});
}

TEST_CASE("training keys have the defaults of frameworks and can be set", "[training]") {
  const Training plain = training("{}");
  CHECK(plain.fragmentation == 0.1);
  CHECK(plain.reserved == std::uint64_t{2} << 30U);
  CHECK(weight_bytes(plain) + gradient_bytes(plain) + optimizer_bytes(plain) == 18);
  CHECK(plain.flash_attention);
  const Training t = training(
      "{micro_batch_size: 4, sequence: 512, recompute: selective, causal: false, "
      "flash_attention: false, fused_loss: false, fused_accumulation: false, "
      "deallocate_outputs: false, vocabulary_multiple: 1, fragmentation: 5 %, reserved: 1 GiB, "
      "bytes: {weights: 1, gradients: 2, optimizer: 0, gathered: 4}}");
  CHECK(t.microbatch_size == 4);
  CHECK(t.sequence == 512U);
  CHECK(t.recompute.granularity == Recompute::Granularity::selective);
  CHECK_FALSE(t.causal);
  CHECK_FALSE(t.flash_attention);
  CHECK_FALSE(t.fused_loss);
  CHECK_FALSE(t.fused_accumulation);
  CHECK_FALSE(t.deallocate_outputs);
  CHECK(t.vocabulary_multiple == 1);
  CHECK(t.fragmentation == 0.05);
  CHECK(t.reserved == std::uint64_t{1} << 30U);
  CHECK(t.bytes.weights == 1);
  CHECK(t.bytes.gradients == 2);
  CHECK(t.bytes.optimizer == 0);
  CHECK(t.bytes.gathered == 4);
  CHECK(gathered_bytes(plain) == 2);
  // In fp8, a weight has 2 bytes plus a row-wise and a column-wise copy of 1 byte each; with
  // fp8_param_gather it has only the copies.
  CHECK(weight_bytes(training("{precision: fp8}")) == 4);
  CHECK(weight_bytes(training("{precision: fp8, fp8_param_gather: true}")) == 2);
  CHECK(weight_bytes(training("{precision: fp8, bytes: {weights: 3}}")) == 3);
  CHECK(gathered_bytes(training("{precision: fp8}")) == 2);
  CHECK(gathered_bytes(training("{precision: fp8, fp8_param_gather: true}")) == 1);
  CHECK_THAT(
      error_of([] { training("{precision: fp6}"); }),
      Catch::Contains("allowed: one of bf16, fp16, fp8, fp8-row, fp8-block, mxfp8, nvfp4, mxfp4, "
                      "tf32, fp32"));
  CHECK_THAT(error_of([] { training("{recompute: all}"); }),
             Catch::Contains("allowed: one of none, selective, full"));
}

TEST_CASE("in 32 bits, weights are their own main parameters", "[training]") {
  for (const char* const precision : {"tf32", "fp32"}) {
    CAPTURE(precision);
    const Training t = training(fmt::format("{{precision: {}}}", precision));
    CHECK(weight_bytes(t) == 4);
    CHECK(gathered_bytes(t) == 4);
    CHECK(gradient_bytes(t) == 4);
    CHECK(optimizer_bytes(t) == 8);  // the two moments of Adam
  }
  CHECK(optimizer_bytes(training("{precision: tf32, optimizer: {exp_avg: bf16}}")) == 6);
  CHECK(optimizer_bytes(training("{precision: tf32, bytes: {optimizer: 12}}")) == 12);
  CHECK(weight_bytes(training("{precision: mxfp4}")) == 2 + 2 * (0.5 + 1.0 / 32));
}

TEST_CASE("CUDA graphs capture a layer, the iteration or a list of modules", "[training]") {
  const auto graphs = [](const std::string& text) {
    return training("{cuda_graphs: " + text + "}").cuda_graphs;
  };
  using Scope = CudaGraphs::Scope;
  CHECK(training("{}").cuda_graphs.scope == Scope::none);
  CHECK(graphs("layer").scope == Scope::layer);
  CHECK(graphs("iteration").scope == Scope::iteration);
  const CudaGraphs modules = graphs("[moe_router, attn, moe_router]");
  CHECK(modules.scope == Scope::modules);
  CHECK(to_string(modules) == "attn and moe_router");
  CHECK(modules == graphs("[attn, moe_router]"));
  CHECK(graphs("attn") == graphs("[attn]"));
  const auto fault = [&](const std::string& text) { return error_of([&] { graphs(text); }); };
  CHECK_THAT(fault("all"), Catch::Contains("training.cuda_graphs is the text 'all'; allowed: one "
                                           "of none, layer, iteration, attn, mlp, moe, "
                                           "moe_router, moe_preprocess, mamba"));
  CHECK_THAT(fault("[attn, layer]"),
             Catch::Contains("t.yaml:1:22: training.cuda_graphs[1] is the text 'layer'; allowed: "
                             "one of attn, mlp, moe, moe_router, moe_preprocess, mamba"));
  CHECK_THAT(fault("[]"), Catch::Contains("allowed: one module or more, such as [attn"));
  CHECK_THAT(fault("[moe, moe_router]"),
             Catch::Contains("training.cuda_graphs has moe together with moe_router"));
  CHECK_THAT(fault("[moe, moe_router, moe_preprocess]"), Catch::Contains("has moe together with"));
  CHECK_THAT(fault("[attn, moe_preprocess]"),
             Catch::Contains("has moe_preprocess without moe_router") &&
                 Catch::Contains("add moe_router"));
}

TEST_CASE("the size of the optimizer state follows from its data types", "[training]") {
  const auto bytes = [](const std::string& optimizer) {
    const Training t = training("{optimizer: " + optimizer + "}");
    return std::pair(gradient_bytes(t), optimizer_bytes(t));
  };
  CHECK(bytes("{}") == std::pair(4.0, 12.0));
  // DeepSeek-V3 stores both moments of Adam in bf16.
  CHECK(bytes("{exp_avg: bf16, exp_avg_sq: bf16}") == std::pair(4.0, 4.0 + 2 + 2));
  CHECK(bytes("{exp_avg_dtype: fp8, exp_avg_sq_dtype: fp16, main_params_dtype: remainders, "
              "main_grads_dtype: bf16}") == std::pair(2.0, 2.0 + 1 + 2));
  const Training given = training(
      "{optimizer: {exp_avg: fp8, main_grads: bf16}, bytes: {gradients: 4, optimizer: 8}}");
  CHECK(gradient_bytes(given) == 4);
  CHECK(optimizer_bytes(given) == 8);
  CHECK_THAT(error_of([] {
               training(
                   "{precision: fp8, fp8_param_gather: true, "
                   "optimizer: {main_params: remainders}}");
             }),
             Catch::Contains("t.yaml:1:") &&
                 Catch::Contains("training.optimizer.main_params is the text 'remainders'; "
                                 "allowed: fp32 or fp16, as fp8_param_gather has no bf16 weights"));
  CHECK_THAT(error_of([] { training("{optimizer: {exp_avg: fp4}}"); }),
             Catch::Contains("allowed: one of fp32, fp16, bf16, fp8"));
}

TEST_CASE("keys of other optimizers than the named one are refused", "[training]") {
  const auto fault_of = [](const std::string& optimizer) {
    return error_of([&] { training("{optimizer: {" + optimizer + "}}"); });
  };
  CHECK(fault_of("name: muon, ns_steps: 3, split_qkv: false, exp_avg: bf16").empty());
  CHECK_THAT(fault_of("ns_steps: 3"),
             Catch::StartsWith("t.yaml:1:24: training.optimizer.ns_steps is a key of muon, and "
                               "training.optimizer.name is adam") &&
                 Catch::Contains("leave out ns_steps, or set name to muon"));
  for (const char* const key : {"mode: fsdp", "layout: padded", "tp_mode: blockwise",
                                "ns_precision: tf32", "split_qkv: false"}) {
    CAPTURE(key);
    CHECK_THAT(fault_of(std::string("name: ademamix, ") + key),
               Catch::Contains("is a key of muon, and training.optimizer.name is ademamix"));
  }
  // Adafactor has no first moment, and the moments of adam_8bit have 8 bits.
  CHECK_THAT(fault_of("name: adafactor, exp_avg_dtype: bf16"),
             Catch::Contains("optimizer.exp_avg_dtype is a key of adam, muon, ademamix, and"));
  CHECK(fault_of("name: adafactor, exp_avg_sq: bf16").empty());
  CHECK_THAT(fault_of("name: adam_8bit, exp_avg_sq: bf16"),
             Catch::Contains("optimizer.exp_avg_sq is a key of adam, muon, adafactor, ademamix"));
}

TEST_CASE("shares are at most 1 and widths at most 8 bytes", "[training]") {
  CHECK(training("{fragmentation: 0.05}").fragmentation == 0.05);
  CHECK(training("{fragmentation: 100 %}").fragmentation == 1);
  CHECK(training("{fragmentation: 0}").fragmentation == 0);
  for (const char* const wrong : {"5", "1.01", "200 %", "-0.1", "nan", "much"}) {
    INFO(wrong);
    CHECK_THAT(error_of([&] { training(fmt::format("{{fragmentation: {}}}", wrong)); }),
               Catch::Contains("training.fragmentation is ") && Catch::Contains(", such as "));
  }
  for (const char* const wrong : {"0", "-2", "9", "wide"}) {
    INFO(wrong);
    CHECK_THAT(error_of([&] { training(fmt::format("{{bytes: {{gathered: {}}}}}", wrong)); }),
               Catch::Contains("training.bytes.gathered is ") && Catch::Contains(", such as "));
  }
}

}  // namespace
}  // namespace pipewright::config::test
