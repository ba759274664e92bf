#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

using Cells = std::map<std::string, std::string>;

// Where experts stay: tokens of the busiest GPU over the mean, of one layer and step, in the mean.
std::string measured_imbalance(const std::vector<Cells>& rows, const Cells& run) {
  const auto found = std::ranges::find_if(rows, [&](const Cells& row) {
    return row.at("statistic") == "mean" && row.at("system") == "FSDP" &&
           row.at("experts") == run.at("experts") &&
           row.at("quantity").starts_with("max over mean of tokens");
  });
  return found == rows.end() ? "" : found->at("value");
}

// Attention is sharded by ZeRO-2 and experts by ZeRO-3 there, here all by ZeRO-3.
std::string scenario_of(const Cells& run, const std::string& imbalance) {
  const auto of = [&](const char* name) { return run.at(name); };
  const std::string model = fmt::format(
      "{{layers: {}, hidden: {}, heads: {}, kv_heads: {}, mlp: swiglu, ffn: {}, norm: rmsnorm, "
      "biases: false, vocabulary: 32000, sequence: {}, experts: {{count: {}, top_k: {}, ffn: "
      "{}}}}}",
      of("layers"), of("hidden"), of("heads"), of("kv_heads"), of("expert_ffn"), of("sequence"),
      of("experts"), of("topk"), of("expert_ffn"));
  const std::uint32_t ranks =
      static_cast<std::uint32_t>(std::stoul(of("experts")) / std::stoul(of("experts_per_gpu")));
  return fmt::format(
      "model: {}\n"
      "cluster: {}\n"
      "global_batch: {}\n"
      "parallel: {{shard: {}, ep: {}}}\n"
      "symmetric: true\n"
      "communication: {{overlap_grad_reduce: false}}\n"
      "training: {{microbatch_size: {}, recompute: {}, experts: {{imbalance: {}}}}}\n",
      model, cluster_of("a100-4nic", 4), of("global_batch"), of("gpus"), ranks, of("micro_batch"),
      of("recompute"), imbalance);
}

}  // namespace

// LAER-MoE (arXiv 2602.11686), its artifact: Mixtral-like models on 4 nodes of 8 A100 with 800 Gb/s
// each, without a capacity, of which the system FSDP leaves experts where they are. Its routing is
// as its own counts of tokens have it, measured on one data set. The README's 450 GB/s of NVLink
// are neither 300 nor 600 of the data sheet: the cluster file's are used. Experts' weights come by
// all-to-all over all GPUs there and by all-gather over the nodes here, tokens stay in their node
// in both, where experts of each kind are; its scripts give --no_async_grad_reduce.
Table laer_moe(const std::filesystem::path& reference) {
  Table table{.title = "LAER-MoE, unbalanced experts on 32 A100, FSDP and ep 4: iterations",
              .unit = "s"};
  const auto folder = reference / "2026";
  const auto file = folder / "laer_moe_32a100_e2e.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  const auto imbalances = tests::read_csv(folder / "laer_moe_imbalance.csv");
  int unattributed = 0;
  int moving = 0;
  for (const Cells& run : tests::read_csv(file)) {
    if (run.at("system") == "megatron") {
      ++unattributed;
    } else if (run.at("system") != "FSDP") {
      ++moving;
    } else {
      table.rows.push_back({.name = fmt::format("{}, {}, balance loss {}", run.at("model"),
                                                run.at("dataset"), run.at("aux_loss")),
                            .scenario = scenario_of(run, measured_imbalance(imbalances, run)),
                            .predict = makespan,
                            .measured = std::stod(run.at("value"))});
    }
  }
  table.left_out = fmt::format(
      "{} rows of Megatron-LM, of which the artifact does not tell pp, microbatch and "
      "recomputation, {} of systems that move experts",
      unattributed, moving);
  return table;
}

}  // namespace pipewright::accuracy
