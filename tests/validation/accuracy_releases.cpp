#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

// Runs of whole models among Megatron-LM's tests (tests/functional_tests/test_cases/mixtral, the
// model_config.yaml of each). Their numbers of GPUs are not told: they are those of which the
// optimizer's shards make up mem-allocated-bytes, what is left between iterations.
struct Release {
  const char* name;
  const char* platform;
  const char* model;
  std::uint32_t tp, pp, ep, etp, dp, chunks, microbatch, batch;
  const char* partition;
  const char* training;
};

constexpr const char* deepseek =
    "{layers: 14, hidden: 7168, heads: 128, ffn: 18432, mlp: swiglu, norm: rmsnorm, biases: false, "
    "vocabulary: 256000,\n        sequence: 4096, mtp_layers: 1, latent: {query_rank: 1536, "
    "kv_rank: 512, nope_head_dim: 128, rope_head_dim: 64, value_head_dim: 128},\n        experts: "
    "{count: 64, top_k: 8, ffn: 2048, shared: 1, groups: 8, top_groups: 4, first_dense: 3}}";
constexpr const char* hybridep =
    ", fused_loss: false, vocabulary_multiple: 3232, experts: {dispatcher: hybridep}";

constexpr std::array releases{
    Release{"deepseekv3_proxy_flex_tp1pp4emp16etp1cp1_release", "dgx_h100", deepseek, 2, 4, 16, 1,
            8, 2, 1, 512, "'Et*2|(tt|)*5t|tmL'", hybridep},
    Release{"mixtral_8x22b_tp2pp8ep8vpp1_release", "dgx_h100",
            "{layers: 56, hidden: 6144, heads: 48, kv_heads: 8, mlp: swiglu, norm: rmsnorm, "
            "biases: false, vocabulary: 32000, sequence: 4096,\n        experts: {count: 8, top_k: "
            "2, ffn: 16384}}",
            2, 8, 8, 2, 8, 1, 1, 256, "even", ", fused_loss: false"},
    Release{"mixtral_8x22b_tp2pp8ep8vpp1_release", "dgx_a100",
            "{layers: 56, hidden: 6144, heads: 48, kv_heads: 8, mlp: swiglu, norm: rmsnorm, "
            "biases: false, vocabulary: 32000, sequence: 4096,\n        experts: {count: 8, top_k: "
            "2, ffn: 16384}}",
            2, 8, 8, 2, 8, 1, 1, 256, "even", ", fused_loss: false"},
    Release{"mixtral_8x7b_alltoall_tp2pp4ep4_release_sm", "dgx_h100",
            "{layers: 32, hidden: 4096, heads: 32, kv_heads: 8, mlp: swiglu, norm: rmsnorm, "
            "biases: false, vocabulary: 256000, sequence: 4096,\n        experts: {count: 8, "
            "top_k: 2, ffn: 14336}}",
            2, 4, 4, 2, 16, 1, 1, 1024, "even", ", fused_loss: false"},
};

// Megatron-LM logs the memory of its last rank, whose experts are as busy as others in the mean.
double last_gib(const Run& run) { return allocated_gib(run.summary.devices.back()); }

}  // namespace

std::vector<Table> megatron_releases(const std::filesystem::path& reference) {
  Table memory{.title =
                   "Megatron-LM's release tests, 38B to 141B with experts on 64 to 128 GPUs: "
                   "peak memory",
               .unit = "GiB",
               .bars = {.mean = 8}};
  const auto file = reference / "2026" / "megatron_lm_golden_memory_time.csv";
  if (!std::filesystem::exists(file)) {
    memory.skipped = file.string() + ": no such file";
    return {memory};
  }
  for (const auto& row : tests::read_csv(file)) {
    const auto release = std::ranges::find_if(releases, [&](const Release& one) {
      return row.at("case") == one.name && row.at("platform") == one.platform;
    });
    if (release == releases.end() || row.at("max_mem_allocated_bytes").empty()) continue;
    const Layout layout{
        .model = release->model,
        .node = std::string(release->platform) == "dgx_h100" ? "dgx-h100" : "dgx-a100",
        .tp = release->tp,
        .pp = release->pp,
        .dp = release->dp,
        .ep = release->ep,
        .etp = release->etp,
        .chunks = release->chunks,
        .microbatch = release->microbatch,
        .microbatches = release->batch / release->dp / release->microbatch,
        .partition = release->partition,
        .training = release->training};
    memory.rows.push_back({.name = fmt::format("{} {}", release->name, layout.node),
                           .scenario = scenario_of(layout),
                           .predict = last_gib,
                           .measured = std::stod(row.at("max_mem_allocated_bytes")) / (1U << 30U),
                           .settings = {"training.experts.routing=forced"}});
  }
  return {memory};
}

}  // namespace pipewright::accuracy
