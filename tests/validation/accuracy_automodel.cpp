#include <fmt/format.h>

#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

// The rows name the attention: Transformer Engine's, as in the stack, or PyTorch's, which is
// FlashAttention 2 on Hopper.
std::string stack_of(const Cells& row) {
  const bool is_pytorch = has(row, "flags", "SDPA") || has(row, "flags", "FlexAttn");
  return is_pytorch ? "{like: automodel, attention: [fa2]}" : "automodel";
}

std::string dispatcher_of(const Cells& row) {
  return row.at("dispatcher").substr(0, row.at("dispatcher").find(' '));
}

std::string automodel_scenario(const Cells& row) {
  Details details{.stack = stack_of(row)};
  const bool has_experts = count_of(row, "ep") > 1;
  if (has_experts || has(row, "flags", "state in bf16"))
    details.training = ", bytes: {weights: 2, gradients: 2, optimizer: 4}";
  if (has_experts)
    details.training += fmt::format(
        ", fused_loss: true, experts: {{routing: forced, dispatcher: {}, round_robin: true}}",
        dispatcher_of(row));
  if (has(row, "flags", "no gradient clipping")) details.communication = "global_norm: false";
  if (row.at("recompute") == "not stated") details.recompute = "full";
  return scenario_of(row, details);
}

// Returns "experts by grouped_gemm", the first of the flags.
std::string library_of(const Cells& row) {
  const std::string& flags = row.at("flags");
  return flags.substr(0, flags.find(';'));
}

std::string hindrance_of(const Cells& row) {
  return has(row, "flags", "LoRA") ? "of LoRA, whose weights are frozen" : "";
}

Table h100_table(const std::filesystem::path& reference) {
  Table table = published_table({
      .title = "NeMo Automodel, FSDP2, 70B and mixtures of experts on 8 and 64 H100: iterations",
      .file = reference / "2026b" / "automodel_h100_fsdp2.csv",
      .hindrance = hindrance_of,
      .scenario = automodel_scenario,
  });
  // recurrence_efficiency of the H100.
  for (Row& row : table.rows) row.is_fitted = row.name.starts_with("Nemotron");
  return table;
}

Source gb200_source(const std::filesystem::path& reference) {
  return {
      .title = "NeMo Automodel, FSDP2, Qwen3 30B-A3B on 8 GB200: iterations",
      .file = reference / "2026b" / "automodel_gb200_fsdp2.csv",
      .hindrance = hindrance_of,
      .scenario = automodel_scenario,
      .remark = library_of,
  };
}

Table gb200_memory(const std::filesystem::path& reference) {
  Source source = gb200_source(reference);
  source.title = "NeMo Automodel, FSDP2, Qwen3 30B-A3B on 8 GB200: peak memory";
  source.peak_memory = peak_gib;
  return published_table(source);
}

}  // namespace

// github.com/NVIDIA-NeMo/Automodel, docs/performance-summary and comments of its yamls. A fake gate
// gives token i the experts from i x top_k on (FakeBalancedGate of
// nemo_automodel/components/moe/layers.py). The yamls of mixtures make models in bf16, train them
// with torch.optim.Adam, so with state in bf16, and leave the logits in 16 bits (fp32_upcast:
// false). The libraries of the experts' products have the same prediction. Assumed: the 70B, whose
// recomputation is not stated, recomputes everything, since it does not fit into memory without;
// the first dispatcher of a cell is that of the run.
std::vector<Table> automodel(const std::filesystem::path& reference) {
  return {h100_table(reference), published_table(gb200_source(reference)), gb200_memory(reference)};
}

}  // namespace pipewright::accuracy
