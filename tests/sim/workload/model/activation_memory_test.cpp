#include "sim/workload/model/activation_memory.hpp"

#include <random>

#include <catch2/catch.hpp>

#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::LayerKind;

namespace {

constexpr double s = 1024;
constexpr double b = 3;
constexpr double h = 4096;
constexpr double a = 32;
constexpr double sbh = s * b * h;

workload::ActivationBytes gpt(const std::string& extra_training, const Layout& layout = {}) {
  const SettingFixture fixture(library_model("zero-bubble-6.2b"),
                               "{microbatch_size: 3, flash_attention: false" + extra_training + "}",
                               layout);
  return layer_bytes(fixture.setting, LayerKind::dense);
}

// Returns the bytes that a router saves: per token and expert, scores in fp32 for top-k and for the
// balance loss, a map of one byte and two integers; and one more integer per token.
double router(double tokens, double experts) {
  return tokens * experts * 9 + 4 * tokens * (2 * experts + 1);
}

}  // namespace

TEST_CASE("a GPT layer holds the bytes of table 2 of arXiv 2205.05198", "[model]") {
  for (const std::uint32_t t : {1U, 2U, 4U, 8U}) {
    INFO("tp " << t);
    const Layout tp{.tp = t};
    const Layout sp{.tp = t, .sequence = true};
    CHECK(gpt("", tp).held == Approx(sbh * (10 + 24.0 / t + 5 * a * s / (h * t))));
    CHECK(gpt("", sp).held == Approx(sbh * (34.0 / t + 5 * a * s / (h * t))));
    CHECK(gpt(", recompute: selective", tp).held == Approx(sbh * (10 + 24.0 / t)));
    CHECK(gpt(", recompute: selective", sp).held == Approx(sbh * (34.0 / t)));
    CHECK(gpt(", recompute: full", tp).held == Approx(2 * sbh));
    CHECK(gpt(", recompute: full", sp).held == Approx(2 * sbh / t));
  }
  CHECK(gpt("").held == Approx(s * b * (34 * h + 5 * a * s)));
}

TEST_CASE("between I and W a GPT layer holds 32 sbh", "[model]") {
  // The expected value is from arXiv 2401.10241, table 1.
  CHECK(gpt("").for_w == Approx(32 * sbh));
  CHECK(gpt(", recompute: full").for_w == Approx(32 * sbh));
}

TEST_CASE("memory that recomputation saves is needed while the backward pass is in the layer",
          "[model]") {
  const auto none = gpt("");
  const auto selective = gpt(", recompute: selective");
  const auto full = gpt(", recompute: full");
  CHECK(none.held + none.working == Approx(selective.held + selective.working));
  CHECK(none.held + none.working == Approx(full.held + full.working));
  CHECK(none.working > 0);
}

TEST_CASE("the first and the last stage hold the bytes of section 4.3 of arXiv 2205.05198",
          "[model]") {
  for (const std::uint32_t t : {1U, 4U}) {
    const SettingFixture fixture(library_model("zero-bubble-6.2b"),
                                 "{microbatch_size: 3, flash_attention: false, fused_loss: false}",
                                 {.tp = t, .sequence = true});
    CHECK(embedding_bytes(fixture.setting).held == Approx(sbh / t));  // per microbatch
    const std::uint32_t v = t == 1 ? 32000 : 32256;  // padded to 128 t: 32,000 or 32,256
    CHECK(fixture.setting.sizes.vocabulary == v);
    CHECK(head_bytes(fixture.setting).held + logits_bytes(fixture.setting) ==
          Approx(4 * sbh / t * (1 + v / h)));
  }
}

TEST_CASE("the gradient of fp32 logits is stored separately and stays until W", "[model]") {
  for (const char* const fused : {"true", "false"}) {
    INFO("fused loss " << fused);
    const bool in_place = fused == std::string("true");
    const SettingFixture fixture(library_model("llama-3-8b"),
                                 "{sequence: 1024, fused_loss: " + std::string(fused) + "}", {});
    const double logits = 1024.0 * 128'256;
    CHECK(logits_bytes(fixture.setting) == (in_place ? 2 : 4) * logits);
    CHECK(logits_grad_bytes(fixture.setting) == 2 * logits);
    // During B or I, a stage holds at least the bytes that I leaves for W.
    const double during = logits_bytes(fixture.setting) + head_bytes(fixture.setting).working;
    CHECK(during == (in_place ? 2 : 6) * logits);
  }
}

TEST_CASE("the gradients of logits take as many bytes as the stack says", "[model]") {
  const double logits = 1024.0 * 128'256;
  const auto working = [](bool fused, std::uint32_t chunks) {
    SettingFixture fixture(library_model("llama-3-8b"),
                           "{sequence: 1024, loss_chunks: " + std::to_string(chunks) +
                               ", fused_loss: " + (fused ? "true}" : "false}"),
                           {});
    fixture.training.stack.memory.loss_working = 8;
    fixture.training.stack.memory.fused_loss_working = 2;
    return head_bytes(fixture.setting).working;
  };
  CHECK(working(false, 1) == 8 * logits);
  CHECK(working(true, 1) == 2 * logits);
  // A chunk's logits are part of what exists at a time.
  CHECK(working(false, 8) == (4 + 8) * logits / 8);
  CHECK(working(true, 8) == (2 + 2) * logits / 8);
}

TEST_CASE("a loss in chunks stores the logits of one chunk while the layers' activations exist",
          "[model]") {
  for (const char* const fused : {"true", "false"}) {
    INFO("fused loss " << fused);
    const auto bytes = [&](const std::string& chunks) {
      const SettingFixture fixture(
          library_model("llama-3-8b"),
          "{sequence: 1024, fused_loss: " + std::string(fused) + ", loss_chunks: " + chunks + "}",
          {});
      CHECK((logits_bytes(fixture.setting) > 0) == (chunks == "1"));
      CHECK((logits_grad_bytes(fixture.setting) > 0) == (chunks == "1"));
      return head_bytes(fixture.setting);
    };
    // Logits in bf16 are overwritten by their gradient; those in fp32 have a gradient of 2 bytes.
    const double of_logit = fused == std::string("true") ? 2 : 6;
    CHECK(bytes("8").working == of_logit * 1024 * 128'256 / 8);
    CHECK(bytes("16").working == bytes("8").working / 2);
    // Input of the norm, and gradient of its result.
    CHECK(bytes("8").held == 4.0 * 1024 * 4096);
    CHECK(bytes("8").for_w == 0);
    CHECK(bytes("1").for_w == 2.0 * 1024 * 4096);
  }
}

TEST_CASE("flash attention stores the sum of each row instead of scores", "[model]") {
  const SettingFixture fixture(library_model("zero-bubble-6.2b"), "{microbatch_size: 3}", {});
  CHECK(layer_bytes(fixture.setting, LayerKind::dense).held == Approx(34 * sbh + 4 * s * b * a));
  CHECK(score_buffer_bytes(fixture.setting) == 0);
}

TEST_CASE("without dropout there are no masks", "[model]") {
  config::Model model = library_model("zero-bubble-6.2b");
  model.dropout = 0;
  const SettingFixture fixture(model, "{microbatch_size: 3, flash_attention: false}", {});
  CHECK(layer_bytes(fixture.setting, LayerKind::dense).held == Approx(sbh * (32 + 2 * a * s / h)));
  CHECK(embedding_bytes(fixture.setting).held == 0);
}

TEST_CASE("context parallelism divides the activations of a GPU", "[model]") {
  for (const std::uint32_t cp : {2U, 4U, 8U})
    CHECK(gpt("", {.cp = cp}).held == Approx(gpt("").held / cp));
}

TEST_CASE("grouped heads and gated MLPs hold bytes by their shapes", "[model]") {
  const SettingFixture fixture(library_model("llama-3-8b"), "{sequence: 1024}", {});
  const double tokens = 1024;
  // The layer saves inputs and outputs of two norms, Q, K, V and attention's result, and gate, up
  // and their product.
  const double elements = 4 * 4096 + (4096 + 2 * 1024 + 4096) + 3 * 14336;
  CHECK(layer_bytes(fixture.setting, LayerKind::dense).held ==
        Approx(2 * tokens * elements + 4 * tokens * 32));
}

TEST_CASE("experts hold the tokens that they receive", "[model]") {
  const config::Model model = library_model("mixtral-8x7b");
  const SettingFixture fixture(model, "{sequence: 1024}", {});
  const double tokens = 1024;
  const double visits = 2 * tokens;
  const double dense = 4 * 4096 + (4096 + 2 * 1024 + 4096);
  CHECK(layer_bytes(fixture.setting, LayerKind::experts).held ==
        Approx(2 * tokens * dense + 4 * tokens * 32 + router(tokens, 8) +
               visits * (2 * (4096 + 3 * 14336) + 4)));
}

// Activations of a DeepSeek-V3 layer with 1,024 tokens on one of 64 ranks of ep, with 4 experts
// each.
namespace {

constexpr double t = 1024;
constexpr double copies = 8 * t;

workload::ActivationBytes v3(const std::string& extra_training) {
  const SettingFixture fixture(library_model("deepseek-v3"),
                               "{sequence: 1024" + extra_training + "}", {.ep = 64});
  return layer_bytes(fixture.setting, LayerKind::experts);
}

}  // namespace

TEST_CASE("a layer of latent attention and experts saves the inputs of its products", "[model]") {
  // The layer saves inputs and results of both norms; compressed queries, keys and values, the part
  // with positions, and the results of their norms; Q and K of 192 elements and V and the result of
  // 128 elements in 128 heads; gate, up and their product of the shared expert.
  const double elements =
      4 * 7168 + (2 * 1536 + 2 * 512 + 64) + 128 * (192 + 192 + 128 + 128) + 3 * 2048;
  CHECK(v3("").held == Approx(2 * t * elements + 4 * t * 128 + router(t, 256) +
                              copies * (2 * (7168 + 3 * 2048) + 4)));
}

TEST_CASE("in scaled types both down-projections save a copy, and shared experts save none",
          "[model][precision]") {
  // One byte per element less: norms of the compressed vectors, input of the shared expert's second
  // product, and inputs of the experts' products. The result of the first norm is saved twice, and
  // the router saves that of the second norm in 16 bits.
  CHECK(v3("").held - v3(", precision: fp8").held ==
        Approx(t * (1536 + 512 + 2048) + copies * (7168 + 2048)));
}

TEST_CASE("DeepSeek-V3 as its authors trained it saves 167 KB per token and layer", "[model]") {
  // Types as in arXiv 2412.19437, sections 3.2.3 and 3.3.3. In fp8, a scale of 4 bytes is stored
  // per 128 elements.
  constexpr double fp8 = 1 + 4.0 / 128;
  const double inputs = 2 * 2 * 7168;
  const double compressed = 2 * (1536 + 512 + 64);
  const double attention = 2 * 128 * 128 + 4 * 128;
  const double router = 9 * 256 + 8 * 4 * (2 * 4 + 1);
  const double tokens = 8 * (fp8 * 7168 + 4);
  const double gates = 9 * 2 * 2048;
  const double shared = fp8 * 2048;
  const double per_token = inputs + compressed + attention + router + tokens + gates + shared;
  CHECK(v3(", precision: fp8-block, activation_func_fp8_input_store: true, "
           "recompute: {modules: [layernorm, mla_up_proj, moe_act]}, experts: {dispatcher: deepep}")
            .held == Approx(t * per_token));
  CHECK(per_token == Approx(167e3).epsilon(0.003));
}

TEST_CASE("inputs of activation functions can be saved in one byte", "[model][precision]") {
  CHECK(v3("").held - v3(", activation_func_fp8_input_store: true").held ==
        Approx(t * 2 * 2048 + copies * 2 * 2048));
}

TEST_CASE("shared experts that overlap with the dispatch save their gathered tokens", "[model]") {
  const auto held = [](const std::string& extra_training, std::uint32_t tp) {
    const SettingFixture fixture(library_model("deepseek-v3"),
                                 "{sequence: 1024" + extra_training + "}",
                                 {.tp = tp, .sequence = true, .ep = 8, .etp = 1});
    return layer_bytes(fixture.setting, LayerKind::experts).held;
  };
  const std::string overlap = ", experts: {shared_overlap: true}";
  CHECK(held(overlap, 4) - held("", 4) == Approx(2 * t * 7168));
  CHECK(held(overlap, 1) == held("", 1));
}

TEST_CASE("dispatchers save no tokens but the map of their copies", "[model]") {
  const double alltoall = v3("").held;
  const double sent = 4 * t * (2 * 256 + 1);
  const double arrived = 4 * copies * (2 * 4 + 1);
  for (const char* const dispatcher : {"allgather", "deepep", "hybridep"})
    CHECK(v3(std::string(", experts: {dispatcher: ") + dispatcher + "}").held ==
          Approx(alltoall - sent + arrived));
}

TEST_CASE("the backward pass of experts holds gradients of their tokens as sent and as arrived",
          "[model]") {
  // Gradients inside an expert need less memory than that: 3 x 2,048 elements per token copy.
  CHECK(v3("").working == Approx(2 * 2 * copies * 7168 + 4 * t * 7168));
}

TEST_CASE("experts without gates save the function's result before and after it is weighted",
          "[model]") {
  const auto held = [](const char* mlp) {
    const SettingFixture fixture(
        model_of("{layers: 1, hidden: 64, heads: 8, vocabulary: 1000, sequence: "
                 "32, ffn: 64, experts: {count: 8, top_k: 2, ffn: 128}, mlp: " +
                 std::string(mlp) + "}"),
        "{}", {});
    return layer_bytes(fixture.setting, LayerKind::experts).held;
  };
  // 64 token copies of 128 elements are saved three times in both cases: input, result and weighted
  // result without gates; gate, up and their weighted product with gates.
  CHECK(held("gelu") == Approx(held("swiglu")));
}

TEST_CASE("norms of queries and keys save their inputs", "[model]") {
  config::Model model = library_model("qwen3-30b-a3b");
  const SettingFixture with(model, "{sequence: 1024}", {});
  model.qk_layernorm = false;
  const SettingFixture without(model, "{sequence: 1024}", {});
  CHECK(layer_bytes(with.setting, LayerKind::experts).held -
            layer_bytes(without.setting, LayerKind::experts).held ==
        Approx(2 * t * (32 + 4) * 128));
}

TEST_CASE("sequence parallelism divides the bytes of a layer equally, for random shapes",
          "[model]") {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t tp = 1U << (random() % 4);
    config::Model model = library_model(random() % 2 == 0 ? "llama-3-8b" : "megatron-7.5b");
    model.kv_heads = 8 * pick(random, 3);
    model.heads = model.kv_heads * pick(random, 4);
    model.head_dim = 8 * pick(random, 16);
    model.hidden = model.heads * model.head_dim;
    model.ffn = 8 * pick(random, 500);
    const std::string training = "{sequence: " + std::to_string(8 * pick(random, 64)) +
                                 ", microbatch_size: " + std::to_string(pick(random, 4)) +
                                 ", flash_attention: " + (random() % 2 == 0 ? "true" : "false") +
                                 ", recompute: " + (random() % 2 == 0 ? "none" : "selective") + "}";
    const SettingFixture whole(model, training, {});
    const SettingFixture cut(model, training, {.tp = tp, .sequence = true});
    const auto whole_bytes = layer_bytes(whole.setting, LayerKind::dense);
    const auto cut_bytes = layer_bytes(cut.setting, LayerKind::dense);
    INFO(training << " tp " << tp);
    REQUIRE(cut_bytes.held * tp == Approx(whole_bytes.held));
    REQUIRE(cut_bytes.for_w * tp == Approx(whole_bytes.for_w));
    REQUIRE(cut_bytes.working * tp == Approx(whole_bytes.working));
    const SettingFixture plain(model, training, {.tp = tp});
    REQUIRE(layer_bytes(plain.setting, LayerKind::dense).held >= cut_bytes.held * (1 - 1e-12));
  }
}

TEST_CASE("recomputation of a module frees exactly its results", "[model][recompute]") {
  const auto held = [](const std::string& model, const std::string& training,
                       LayerKind kind = LayerKind::dense) {
    const SettingFixture fixture(library_model(model), "{sequence: 1024" + training + "}", {});
    return layer_bytes(fixture.setting, kind);
  };
  const auto freed = [&](const std::string& model, const std::string& modules, LayerKind kind) {
    const auto without = held(model, "", kind);
    const auto with_modules = held(model, ", recompute: {modules: [" + modules + "]}", kind);
    CHECK(without.held + without.working == Approx(with_modules.held + with_modules.working));
    return without.held - with_modules.held;
  };
  // In this model, a norm is computed together with the product that uses it, and the second norm
  // belongs to the MLP. Recomputing layernorm alone therefore frees nothing.
  CHECK(freed("llama-3-8b", "layernorm", LayerKind::dense) == 0);
  CHECK(freed("llama-3-8b", "mlp", LayerKind::dense) == Approx(2 * t * (3 * 14336 + 4096)));
  CHECK(freed("llama-3-8b", "mlp, layernorm", LayerKind::dense) ==
        freed("llama-3-8b", "mlp", LayerKind::dense));
  CHECK(freed("llama-3-8b", "moe", LayerKind::dense) == 0);
  // In these layers, norms are separate kernels: the one before router and experts, and in
  // DeepSeek-V3 also that before two down-projections.
  CHECK(freed("mixtral-8x7b", "layernorm", LayerKind::experts) == Approx(2 * t * 4096));
  CHECK(freed("deepseek-v3", "layernorm", LayerKind::experts) == Approx(2 * 2 * t * 7168));
  CHECK(freed("mixtral-8x7b", "moe_act", LayerKind::experts) == Approx(2 * 2 * t * 14336));
  CHECK(freed("mixtral-8x7b", "moe", LayerKind::experts) ==
        Approx(2 * t * (2 * (3 * 14336 + 4096) + 4) + router(t, 8)));
  // Queries and keys have 192 elements and values 128 in each of 128 heads; norms of compressed
  // vectors are included.
  CHECK(freed("deepseek-v3", "mla_up_proj", LayerKind::dense) ==
        Approx(2 * t * (128 * (192 + 192 + 128) + 1536 + 512)));
  CHECK(freed("deepseek-v3", "shared_experts", LayerKind::experts) == Approx(2 * t * 3 * 2048));
  // Recomputation by operator keeps attention's result and every second product, which is half of
  // Q, K and V, half of gate and up, and half of the two products that add to the residual.
  CHECK(held("llama-3-8b", ", recompute: {granularity: op}").held ==
        Approx(2 * t * (4096 + (4096 + 2 * 1024) / 2.0 + 14336 + 4096 + 4096) + 4 * t * 32));
}

TEST_CASE("a gated activation that is not fused also saves its result before the gate", "[model]") {
  const auto held = [](const std::string& model, bool fused) {
    SettingFixture fixture(library_model(model), "{sequence: 1024}", {});
    if (!fused)
      fixture.training.stack.fused.reset(static_cast<std::size_t>(config::Fusable::activation));
    return layer_bytes(fixture.setting, LayerKind::dense);
  };
  const auto added = [&](const std::string& model) {
    return held(model, false).held - held(model, true).held;
  };
  CHECK(added("llama-3-8b") == Approx(2 * t * 14336));
  CHECK(added("zero-bubble-6.2b") == 0);  // GELU without a gate
  CHECK(held("llama-3-8b", false).for_w == held("llama-3-8b", true).for_w);
}

TEST_CASE("a scaled recipe saves the inputs of products in its own type", "[model][precision]") {
  const auto held = [](const std::string& precision) {
    const SettingFixture fixture(library_model("llama-3-8b"),
                                 "{sequence: 1024, precision: " + precision + "}", {});
    return layer_bytes(fixture.setting, LayerKind::dense);
  };
  // In fp8, the results of both norms and of the activation function are saved in 8 bits. That of
  // attention stays in 16 bits.
  CHECK(held("bf16").held - held("fp8").held == Approx(t * (2 * 4096 + 14336)));
  CHECK(held("fp8").for_w == Approx(held("bf16").for_w / 2));
}

TEST_CASE("in 32 bits a layer holds twice the bytes, but for masks and sums of rows",
          "[model][precision]") {
  // Table 2 of arXiv 2205.05198 with 4 bytes for each element and 1 for each mask: 34 = 2 x 16 + 2
  // and 5 = 2 x 2 + 1.
  CHECK(gpt(", precision: tf32").held == Approx(sbh * (66 + 9 * a * s / h)));
  CHECK(gpt(", precision: fp32, recompute: full").held == Approx(4 * sbh));
  CHECK(gpt(", precision: fp32").for_w == Approx(64 * sbh));
}
