#include "sim/workload/shape/layout_checks.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using config::test::error_of;

namespace {

std::string fault(const std::string& model, const Layout& layout,
                  const std::string& training = "{}") {
  config::Parallel parallel = parallel_of(layout);
  parallel.tp.origin = {"s.yaml", 2, 5};
  parallel.cp.origin = {"s.yaml", 3, 5};
  parallel.ep.origin = {"s.yaml", 4, 5};
  return error_of(
      [&] { workload::check_layout(library_model(model), training_of(training), parallel); });
}

}  // namespace

TEST_CASE("a published parameter count applies only to the shape of its file", "[model]") {
  config::Value root = config::read_yaml_text("model: llama-3-70b", "s.yaml");
  const auto model = [&] { return config::read_model({*config::find(root, "model"), "model"}); };
  CHECK(model().published.value > 70e9);
  config::override_key(root, "model.layers", "12", {"--set model.layers"});
  CHECK(model().layers == 12);
  CHECK_NOTHROW(workload::check_parameters(model()));
}

TEST_CASE("a parameter count that contradicts the other keys is rejected", "[model]") {
  // Two norms of 8 in each layer and one at the end, 4 x 8 x 8 of attention, 8 x 32 x 2 of the MLP,
  // 100 x 8 twice: 2 x (16 + 256 + 512) + 8 + 1,600 = 3,176.
  const auto fault_with = [](const std::string& parameters) {
    const config::Model model = model_of(
        "{layers: 2, hidden: 8, heads: 2, norm: rmsnorm, biases: false, vocabulary: 100,\n"
        " sequence: 16, parameters: " +
        parameters + "}");
    REQUIRE(workload::parameter_count(model) == 3176);
    return error_of([&] { workload::check_parameters(model); });
  };
  CHECK(fault_with("3176").empty());
  CHECK(fault_with("3191").empty());
  CHECK(fault_with("3161").empty());
  CHECK_THAT(fault_with("3193"), Catch::Contains("m.yaml:2:28: model.parameters is "));
  CHECK_THAT(fault_with("0.00635M"),
             Catch::Contains("50.0 % fewer; correct the wrong key, or omit parameters; "
                             "allowed: within 0.5 %"));
  CHECK_THAT(fault_with("1588"), Catch::Contains("100.0 % more"));
}

TEST_CASE("layouts that fit are accepted", "[model]") {
  CHECK(fault("llama-3-405b", {.tp = 8, .sequence = true, .cp = 4, .dp = 3}).empty());
  CHECK(fault("deepseek-v3", {.tp = 4, .sequence = true, .ep = 64, .dp = 128}).empty());
  CHECK(fault("mixtral-8x7b", {.cp = 2, .ep = 8, .dp = 4}).empty());
  // This layout is published: 1,024 H100 with tp 2, pp 8 and experts distributed over 64 ranks.
  CHECK(fault("deepseek-v3", {.tp = 2, .sequence = true, .ep = 64, .etp = 1, .dp = 64}).empty());
  CHECK(fault("gpt3-175b", {.tp = 8}).empty());
}

TEST_CASE("a size that does not divide is named with the nearest sizes that do", "[model]") {
  CHECK_THAT(fault("gpt3-175b", {.tp = 7}),
             Catch::StartsWith("s.yaml:2:5: parallel.tp is 7, which does not divide the model's "
                               "heads (96); allowed: a divisor, such as 6 or 8"));
  CHECK_THAT(fault("llama-3-8b", {.tp = 16}),
             Catch::Contains("the model's kv_heads (8)") && Catch::Contains("such as 8"));
  CHECK_THAT(fault("llama-3-8b", {.cp = 3}),
             Catch::StartsWith("s.yaml:3:5: parallel.cp is 3, which does not divide the sequence "
                               "(8192)") &&
                 Catch::Contains("such as 2 or 4"));
  CHECK_THAT(fault("llama-3-8b", {.tp = 8, .sequence = true}, "{sequence: 100}"),
             Catch::Contains("which parallel.sp splits (100)"));
  CHECK_THAT(fault("mixtral-8x7b", {.ep = 3, .dp = 3}),
             Catch::StartsWith("s.yaml:4:5: parallel.ep is 3, which does not divide the model's "
                               "experts (8)"));
  CHECK_THAT(fault("mixtral-8x7b", {.cp = 2, .ep = 8, .dp = 2}),
             Catch::Contains("the ranks that share the experts, parallel.dp x parallel.cp (4)") &&
                 Catch::Contains("such as 4"));
  CHECK_THAT(fault("gpt3-175b", {.ep = 2, .dp = 2}),
             Catch::Contains("parallel.ep is 2, and the model has no experts; allowed: 1"));
}

TEST_CASE("ranks of tp may read the same head of keys and values in Megatron-Core", "[model]") {
  const auto fault_on = [](const std::string& family, std::uint32_t heads, std::uint32_t tp) {
    const config::Model model = model_of(fmt::format(
        "{{layers: 2, hidden: 1536, heads: {}, kv_heads: 2, ffn: 6144, vocabulary: 100,\n"
        " sequence: 16}}",
        heads));
    config::Training training = training_of("{}");
    training.stack.family = family;
    return error_of([&] { workload::check_layout(model, training, parallel_of({.tp = tp})); });
  };
  CHECK(fault_on("megatron", 24, 2).empty());
  CHECK(fault_on("megatron", 24, 8).empty());
  CHECK_THAT(fault_on("megatron", 24, 3),
             Catch::Contains("parallel.tp is 3, which does not divide the model's kv_heads (2) and "
                             "is no multiple of it; allowed: a divisor or a multiple, such as 2 or "
                             "4"));
  CHECK_THAT(fault_on("", 24, 8),
             Catch::Contains("parallel.tp is 8, which does not divide the model's kv_heads (2); "
                             "allowed: a divisor, such as 2"));
}

TEST_CASE("an exchange of heads divides those of keys and values", "[model]") {
  const auto exchanged = [](std::uint32_t tp, std::uint32_t cp) {
    return fault("llama-3-8b", {.tp = tp, .cp = cp, .cp_comm = config::ContextComm::a2a});
  };
  CHECK(exchanged(2, 4).empty());
  CHECK_THAT(exchanged(4, 4), Catch::Contains("parallel.cp is 4, which does not divide a rank's "
                                              "key and value heads, which a2a distributes (2)"));
}

TEST_CASE("a rank of cp has a part of both ends of a sequence", "[model]") {
  CHECK_THAT(
      fault("llama-3-8b", {.cp = 4}, "{sequence: 4}"),
      Catch::Contains("parallel.cp is 4, which does not divide half of the sequence, "
                      "since cp_load_balance head_tail gives each rank a part of both ends (2)"));
  CHECK(fault("llama-3-8b", {.cp = 4, .cp_balance = config::ContextBalance::none}, "{sequence: 4}")
            .empty());
}

TEST_CASE("a hierarchical exchange divides heads among its first ranks", "[model]") {
  const auto exchanged = [](std::uint32_t tp, std::uint32_t a2a) {
    return fault("llama-3-8b",
                 {.tp = tp, .cp = 16, .cp_comm = config::ContextComm::a2a_p2p, .cp_a2a = a2a});
  };
  CHECK(exchanged(2, 4).empty());
  CHECK_THAT(exchanged(4, 4),
             Catch::Contains("the first of parallel.hierarchical_context_parallel_sizes is 4, "
                             "which does not divide a rank's key and value heads, which a2a "
                             "distributes (2); allowed: a divisor, such as 2"));
}

TEST_CASE("experts have divisor rules of their own", "[model]") {
  CHECK_THAT(fault("mixtral-8x7b", {.tp = 2, .dp = 2}),
             Catch::StartsWith("s.yaml:2:5: parallel.tp is 2 without parallel.sp") &&
                 Catch::EndsWith("; allowed: sp true, or tp 1, as in Megatron-Core"));
  CHECK_THAT(fault("mixtral-8x7b", {.tp = 2, .sequence = true, .etp = 3, .dp = 3}),
             Catch::Contains("parallel.etp is 3, which does not divide the ffn of the model's "
                             "experts (14336)"));
  CHECK_THAT(fault("mixtral-8x7b", {.tp = 2, .sequence = true, .ep = 8, .etp = 1, .dp = 2}),
             Catch::Contains("parallel.ep is 8, which does not divide the ranks that share the "
                             "experts, tp x cp x dp / etp (4)"));
  CHECK_THAT(fault("gpt3-175b", {.tp = 2, .etp = 2}),
             Catch::Contains("parallel.etp is 2, and the model has no experts; allowed: 1"));
}

TEST_CASE("a size is offered only if it satisfies all divisor rules", "[model]") {
  // 3 divides the 4095 tokens, but not the 32 heads.
  CHECK_THAT(fault("llama-3-8b", {.tp = 2, .sequence = true}, "{sequence: 4095}"),
             Catch::EndsWith("allowed: a divisor, such as 1"));
  // 3 divides the 9 ranks, but not the 8 experts.
  CHECK_THAT(fault("mixtral-8x7b", {.ep = 2, .dp = 9}),
             Catch::EndsWith("allowed: a divisor, such as 1"));
}

TEST_CASE("a size is offered only if it satisfies the additional condition", "[model]") {
  const auto offers = [](std::uint32_t limit) {
    config::Parallel parallel = parallel_of({.cp = 3});
    return error_of([&] {
      workload::check_layout(
          library_model("llama-3-8b"), training_of("{}"), parallel,
          [&](const config::Parallel& candidate) { return candidate.cp.value <= limit; });
    });
  };
  CHECK_THAT(offers(8), Catch::EndsWith("such as 2 or 4"));
  CHECK_THAT(offers(2), Catch::EndsWith("such as 2"));
  CHECK_THAT(offers(1), Catch::EndsWith("such as 1"));
  // If no size fixes all faults, sizes are offered that fix at least the reported one.
  CHECK_THAT(offers(0), Catch::EndsWith("such as 2 or 4"));
}

TEST_CASE("an error always offers a size", "[model]") {
  // ep 3 is wrong for any cp, so the offered values of cp need only fix the fault of cp itself.
  CHECK_THAT(
      fault("mixtral-8x7b", {.cp = 3, .ep = 3}),
      Catch::StartsWith("s.yaml:3:5: parallel.cp is 3") && Catch::EndsWith("such as 2 or 4"));
}
