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
  if (has(row, "flags", "state in bf16"))
    details.training = ", bytes: {weights: 2, gradients: 2, optimizer: 4}";
  if (count_of(row, "ep") > 1)
    details.training +=
        fmt::format(", experts: {{routing: forced, dispatcher: {}}}", dispatcher_of(row));
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
  if (has(row, "flags", "LoRA")) return "of LoRA, whose weights are frozen";
  return has(row, "precision", "of experts") ? "with mxfp8 in the experts' products alone" : "";
}

Table h100_table(const std::filesystem::path& reference) {
  return published_table({
      .title = "NeMo Automodel, FSDP2, 70B and mixtures of experts on 8 and 64 H100: iterations",
      .file = reference / "2026b" / "automodel_h100_fsdp2.csv",
      .hindrance = hindrance_of,
      .scenario = automodel_scenario,
  });
}

Table gb200_table(const std::filesystem::path& reference) {
  return published_table({
      .title = "NeMo Automodel, FSDP2, Qwen3 30B-A3B on 8 GB200: iterations",
      .file = reference / "2026b" / "automodel_gb200_fsdp2.csv",
      .hindrance = hindrance_of,
      .scenario = automodel_scenario,
      .remark = library_of,
  });
}

}  // namespace

// github.com/NVIDIA-NeMo/Automodel, docs/performance-summary and comments of its yamls: a fake gate
// balances experts. The libraries of the experts' products have the same prediction.
// Assumed: the 70B, whose recomputation is not stated, recomputes everything, since it does not fit
// into memory without; the first dispatcher of a cell is that of the run.
std::vector<Table> automodel(const std::filesystem::path& reference) {
  return {h100_table(reference), gb200_table(reference)};
}

}  // namespace pipewright::accuracy
