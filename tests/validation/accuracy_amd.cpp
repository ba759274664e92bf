#include <fmt/format.h>

#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

// AXLearn has one microbatch a step.
Cells in_one_microbatch(Cells row) {
  row["micro_batch"] = std::to_string(count_of(row, "global_batch") / count_of(row, "dp"));
  return row;
}

// The mesh rule of these runs, amd-mi300-single-node, saves nothing inside a layer
// (nothing_saveable in axlearn/experiments/text/gpt/fuji.py). RCCL takes 64 compute units between
// nodes. Assumed: the payload of RoCE on InfiniBand too; and reductions are not hidden, as the
// script leaves out XLA's pipelined collectives, which carry them from one layer of a scan to the
// next (example/rocm/launch_70B_multi_nodes.sh).
std::string axlearn_scenario(const Cells& row) {
  return scenario_of(in_one_microbatch(row),
                     {.stack = "maxtext",
                      .recompute = "full",
                      .communication = "sms: 64, overlap_grad_reduce: false"});
}

std::string axlearn_remark(const Cells& row) {
  const std::string& network = row.at("interconnect");
  return network.substr(0, network.find(' '));
}

std::string axlearn_hindrance(const Cells& row) {
  return count_of(row, "cp") > 1 ? "whose axis of sequences gathers them, which is no cp" : "";
}

// Bars of a figure. Switches add up from bar to bar. Stage 1 of the router without synchronization
// also fuses router and permutation (run_deepseek_v2_pretrain_mi355x.sh); in the figure of V2-Lite
// the binding to NUMA nodes follows it. No key describes the rest of these two. Gradients are not
// accumulated by products (gradient_accumulation_fusion of the configuration), and DeepEP takes 64
// compute units (turbo_deepep_num_cu).
std::string primus_scenario(const Cells& row) {
  const bool has_loss_fusion = !has(row, "flags", "baseline");
  const bool is_fused = has(row, "flags", "sync-free") || has(row, "flags", "NUMA");
  const bool is_blocking = count_of(row, "pp") > 1 && count_of(row, "vp") == 1;
  const std::string fused = is_fused ? ", permutation, router" : "";
  return scenario_of(
      row, {.stack = fmt::format("{{like: primus, fused: [norm, activation, rope, "
                                 "softmax, residual, cross_entropy, optimizer{}]}}",
                                 fused),
            .training = fmt::format(", fused_loss: {}, fused_accumulation: false, "
                                    "experts: {{routing: forced, dispatcher: {}, sms: 64}}",
                                    has_loss_fusion, row.at("dispatcher")),
            .more = is_blocking ? "p2p: blocking\n" : ""});
}

std::string primus_remark(const Cells& row) {
  const std::string& flags = row.at("flags");
  return flags.substr(0, flags.find(';'));
}

std::string primus_hindrance(const Cells& row) {
  return row.at("set") == "mi350x_torchtune" ? "of a single reader" : "";
}

// MLPerf Training 6.0: the casts of the recipe also transform blocks of 32 elements, which moves no
// more bytes.
std::string mlperf_scenario(const Cells& row) {
  return scenario_of(
      row,
      {.stack = "primus", .training = ", fused_loss: true", .communication = "gradient_bytes: 2"});
}

}  // namespace

// github.com/AMD-AGI/axlearn, example/rocm/README.md, and github.com/AMD-AGI/Primus,
// examples/moe_package/README.md, figures 5 to 7. Memory is a printed percentage of the GPU's 288
// GiB.
std::vector<Table> amd(const std::filesystem::path& reference) {
  const auto file = reference / "2026b" / "amd_mi300x_mi355x.csv";
  const auto is_axlearn = [](const Cells& row) { return row.at("set") == "axlearn_mi300x"; };
  const auto is_mlperf = [](const Cells& row) { return row.at("set") == "mlperf_v6_amd"; };
  const std::string primus_title =
      "Primus (AMD-AGI/Primus), DeepSeek-V2 and -Lite on 8 and 32 MI355X, primus: ";
  Source primus{.title = primus_title + "iterations",
                .file = file,
                .selects = [=](const Cells& row) { return !is_axlearn(row) && !is_mlperf(row); },
                .hindrance = primus_hindrance,
                .scenario = primus_scenario,
                .remark = primus_remark,
                .is_fitted = true};  // attention.ck.uneven_backward of the MI355X
  std::vector<Table> tables{
      published_table({.title = "AXLearn (AMD-AGI/axlearn), 70B on 32 MI300X, maxtext: iterations",
                       .file = file,
                       .selects = is_axlearn,
                       .hindrance = axlearn_hindrance,
                       .scenario = axlearn_scenario,
                       .remark = axlearn_remark}),
      published_table({.title = "MLPerf Training 6.0, Llama 3.1 8B on 8 MI350X, mxfp4: iterations",
                       .file = file,
                       .selects = is_mlperf,
                       .scenario = mlperf_scenario}),
      published_table(primus)};
  primus.title = primus_title + "peak memory";
  primus.peak_memory = occupied_gib;
  primus.is_fitted = false;
  tables.push_back(published_table(primus));
  return tables;
}

}  // namespace pipewright::accuracy
