#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

using Cells = std::map<std::string, std::string>;

bool says(const Cells& row, const char* name) { return row.at(name) == "true"; }

std::uint32_t number(const Cells& row, const char* name, std::uint32_t otherwise) {
  const std::string& text = row.at(name);
  return text.empty() ? otherwise : static_cast<std::uint32_t>(std::stoul(text));
}

std::string node_of(const std::string& platform) {
  const auto has = [&](const char* word) { return platform.find(word) != std::string::npos; };
  return has("a100") ? "dgx-a100" : has("h100") ? "dgx-h100" : has("gb200") ? "gb200-nvl72" : "";
}

// Why a run cannot be told in a scenario, or is not of this kind; empty: it can.
std::string hindrance(const Cells& row) {
  if (row.at("family") != "gpt" && row.at("family") != "moe") return "not GPT";
  if (says(row, "multi-latent-attention")) return "with latent attention";
  if (says(row, "use-megatron-fsdp")) return "with FSDP";
  const std::string& name = row.at("case");
  if (name.find("loss_fusion") != std::string::npos ||
      name.find("defer_embedding") != std::string::npos || name.find("frozen") != std::string::npos)
    return "with what is not modelled (loss fused by PyTorch, deferred W of the embedding, frozen "
           "weights)";
  if (row.at("gpus") != "8") return "not on 8 GPUs, or not told on how many";
  if (node_of(row.at("platform")).empty()) return "on GPUs that are not told";
  if (row.at("median_iteration_s").empty() || row.at("max_mem_allocated_bytes").empty())
    return "without a number";
  return "";
}

bool has_experts(const Cells& row) { return !row.at("num-experts").empty(); }

// True for the tests whose model_config.yaml has --moe-grouped-gemm. In others each expert has
// products of its own.
bool has_grouped_products(const Cells& row) {
  const std::string& name = row.at("case");
  return name.ends_with("ddp_average_in_collective") || name.ends_with("8experts_etp1_ep4");
}

// Most tests set CUBLAS_WORKSPACE_CONFIG to :4096:8 (model_config.yaml), with which cuBLAS takes 32
// MiB for each of two threads on an A100 too. A fifth of a stack's workspace counts there.
std::string workspace_of(const Cells& row, bool is_local) {
  const std::string& name = row.at("case");
  const auto has = [&](const char* words) { return name.find(words) != std::string::npos; };
  const bool sets = !has("pp2_cp2") && !has("torch_dist_cp") && !has("torch_dist_reshard");
  if (!sets || node_of(row.at("platform")) != "dgx-a100") return "";
  return fmt::format("workspace: {} MiB, ", 5 * (is_local ? 64 : 68));
}

std::string stack_of(const Cells& row) {
  const bool is_local = row.at("transformer-impl") == "local";
  const bool is_grouped = has_experts(row) && has_grouped_products(row);
  return fmt::format("{{like: {}, memory: {{{}expert_workspace: {} MiB}}}}",
                     is_local ? "megatron-local" : "megatron-core", workspace_of(row, is_local),
                     is_grouped ? 128 : 0);
}

// A key of the model, of experts as its arguments say.
std::string experts_of(const Cells& row, std::uint32_t ffn) {
  if (!has_experts(row)) return "";
  return fmt::format(",\n        experts: {{count: {}, top_k: {}, ffn: {}}}",
                     number(row, "num-experts", 0), number(row, "moe-router-topk", 2),
                     number(row, "moe-ffn-hidden-size", ffn));
}

// Megatron-LM's defaults where a column is empty; its tests read text in GPT-2's tokens, and those
// of experts have no biases.
Layout layout_of(const Cells& row) {
  const bool gated = says(row, "swiglu");
  const std::uint32_t hidden = number(row, "hidden-size", 512);
  const bool dropout = row.at("hidden-dropout").empty();
  const bool flash = row.at("attention-backend") != "unfused" &&
                     row.at("attention-backend") != "local" &&
                     row.at("transformer-impl") != "local";
  Layout layout{.tp = number(row, "tensor-model-parallel-size", 1),
                .cp = number(row, "context-parallel-size", 1),
                .pp = number(row, "pipeline-model-parallel-size", 1),
                .microbatch = number(row, "micro-batch-size", 4),
                .sequence_parallel = says(row, "sequence-parallel"),
                .zero = says(row, "use-distributed-optimizer") ? 1U : 0U};
  layout.node = node_of(row.at("platform"));
  layout.stack = stack_of(row);
  layout.dp = 8 / layout.gpus();
  layout.microbatches = number(row, "global-batch-size", 32) / layout.dp / layout.microbatch;
  const std::uint32_t layers = number(row, "num-layers", 12);
  const std::uint32_t virtual_layers = number(row, "num-layers-per-virtual-pipeline-stage", 0);
  if (virtual_layers > 0) layout.chunks = layers / layout.pp / virtual_layers;
  const std::uint32_t ffn = number(row, "ffn-hidden-size", 4 * hidden);
  if (has_experts(row)) {
    layout.ep = number(row, "expert-model-parallel-size", 1);
    layout.etp = number(row, "expert-tensor-parallel-size", layout.tp);
  }
  layout.model = fmt::format(
      "{{layers: {}, hidden: {}, heads: {}, kv_heads: {}, ffn: {}, mlp: {}, norm: {}, vocabulary: "
      "{},\n        sequence: {}, positions: {}, tied_embeddings: {}, dropout: {}, biases: {}{}}}",
      layers, hidden, number(row, "num-attention-heads", 8),
      number(row, "num-query-groups", number(row, "num-attention-heads", 8)), ffn,
      gated ? "swiglu" : "gelu", row.at("normalization") == "RMSNorm" ? "rmsnorm" : "layernorm",
      number(row, "vocab-size", 50257), number(row, "seq-length", 1024),
      row.at("position-embedding-type") == "rope" ? "rotary" : "learned",
      !says(row, "untie-embeddings-and-output-weights"), dropout ? 0.1 : 0,
      !has_experts(row) && row.at("case").find("disable_bias") == std::string::npos,
      experts_of(row, ffn));
  layout.training =
      fmt::format(", flash_attention: {}, fused_loss: false, fused_accumulation: false", flash);
  if (!row.at("recompute-granularity").empty())
    layout.training += ", recompute: " + row.at("recompute-granularity");
  if (row.at("fp8-recipe") == "tensorwise") layout.training += ", precision: fp8";
  if (has_experts(row)) {
    const std::string& dispatcher = row.at("moe-token-dispatcher-type");
    layout.training += fmt::format(", experts: {{routing: natural, dispatcher: {}}}",
                                   dispatcher.empty() ? "allgather" : dispatcher);
  }
  layout.communication =
      fmt::format("overlap_grad_reduce: {}, overlap_param_gather: {}",
                  says(row, "overlap-grad-reduce"), says(row, "overlap-param-gather"));
  return layout;
}

// Megatron-LM logs the memory of its last rank, whose experts are as busy as others in the mean.
const std::vector<std::string> of_any_rank{"training.experts.routing=forced"};
double last_gib(const Run& run) { return allocated_gib(run.summary.devices.back()); }

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

}  // namespace

// github.com/NVIDIA/Megatron-LM, tests/functional_tests: what its own tests of small GPT models
// took, on 8 GPUs of a kind. One row a case and kind of GPU: the median of its runs, which differ
// by a quarter from day to day. The host sets their pace.
std::vector<Table> megatron_tests(const std::filesystem::path& reference) {
  Table times{.title = "Megatron-LM's tests, small GPT models on 8 A100, H100, GB200: iterations",
              .unit = "s",
              .bars = {.mean = 20}};  // the aim is 6
  Table memory{.title = "Megatron-LM's tests, small GPT models on 8 A100, H100, GB200: peak memory",
               .unit = "GiB",
               .bars = {.mean = 4}};
  const auto file = reference / "2026" / "megatron_lm_golden_memory_time.csv";
  if (!std::filesystem::exists(file)) {
    times.skipped = memory.skipped = file.string() + ": no such file";
    return {times, memory};
  }
  Table expert_times{.title =
                         "Megatron-LM's tests, small mixtures of experts on 8 A100, H100, "
                         "GB200: iterations",
                     .unit = "s"};
  Table expert_memory{.title =
                          "Megatron-LM's tests, small mixtures of experts on 8 A100, H100, "
                          "GB200: peak memory",
                      .unit = "GiB",
                      .bars = {.mean = 4}};
  struct Case {
    Layout layout;
    std::vector<double> seconds, gib;
  };
  std::map<std::string, Case> cases;
  std::map<std::string, int> hindrances;
  for (const Cells& row : tests::read_csv(file)) {
    if (const std::string why = hindrance(row); !why.empty()) {
      ++hindrances[why];
      continue;
    }
    Case& found = cases[row.at("case") + " " + node_of(row.at("platform"))];
    found.layout = layout_of(row);
    found.seconds.push_back(std::stod(row.at("median_iteration_s")));
    found.gib.push_back(std::stod(row.at("max_mem_allocated_bytes")) / (1U << 30U));
  }
  for (const auto& [name, one] : cases) {
    Row row{.name = name, .scenario = scenario_of(one.layout)};
    const bool experts = one.layout.ep > 0;
    row.predict = makespan;
    row.measured = middle(one.seconds);
    row.is_fitted = !experts && times.rows.size() % 4 == 0;  // the host's time for a kernel
    (experts ? expert_times : times).rows.push_back(row);
    row.predict = last_gib;
    row.measured = middle(one.gib);
    row.is_fitted = false;
    if (experts) row.settings = of_any_rank;
    (experts ? expert_memory : memory).rows.push_back(row);
  }
  for (const auto& [why, count] : hindrances)
    times.left_out += fmt::format("{}{} runs {}", times.left_out.empty() ? "" : ", ", count, why);
  return {times, memory, expert_times, expert_memory};
}

}  // namespace pipewright::accuracy
