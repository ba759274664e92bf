#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

std::string node_of(const std::string& accelerator) {
  const auto has = [&](const char* word) { return accelerator.find(word) != std::string::npos; };
  return has("GB300")   ? "gb300-nvl72"
         : has("GB200") ? "gb200-nvl72"
         : has("H100")  ? "dgx-h100"
                        : "";
}

// github.com/mlcommons/training_results_v6.0 (Richardyu114's copy): one layout on 512 and 2,048
// GPUs, experts routed by what they learn with a balance loss, fp8 attention and weights.
Table mlperf_experts(const std::filesystem::path& reference) {
  Table table{.title = "MLPerf Training 6.0, DeepSeek-V3 on 512 and 2,048 GB200, mxfp8: iterations",
              .unit = "s"};
  const auto file = reference / "2026" / "mlperf_v6.0_moe_405b.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  for (auto& row : tests::read_csv(file)) {
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(std::stod(row.at(name)));
    };
    const Layout layout{
        .model = "deepseek-v3",
        .node = node_of(row.at("gpu")),
        .tp = number("tp"),
        .pp = number("pp"),
        .dp = number("dp"),
        .ep = number("ep"),
        .chunks = number("vp"),
        .microbatch = number("micro_batch"),
        .microbatches = number("grad_acc"),
        .sequence = number("sequence"),
        .partition = "'" + row.at("pp_layout") + "'",
        .training =
            ", precision: {default: mxfp8, attention: mxfp8}, fp8_param_gather: true, recompute: "
            "{modules: [mlp]}, "
            "cuda_graphs: iteration, experts: {routing: natural, dispatcher: hybridep, sms: 32, "
            "overlap: "
            "true, delay_wgrad: true, op_fuser: true}"};
    table.rows.push_back({.name = fmt::format("{} GPUs, tp {} pp {} ep {}", layout.gpus(),
                                              layout.tp, layout.pp, layout.ep),
                          .scenario = scenario_of(layout),
                          .predict = makespan,
                          .measured = std::stod(row.at("median_step_s")),
                          .settings = {"model.mtp_layers=1"}});
  }
  return table;
}

}  // namespace

// github.com/mlcommons/training_results_v5.1: the rows whose layout the submitted script tells.
// Transformer Engine's attention in bf16. Where a script has CUDA graphs (config_common_cg.sh),
// those of 405B capture the whole iteration, and we assume layers for 8B.
std::vector<Table> mlperf(const std::filesystem::path& reference) {
  Table table{.title = "MLPerf Training 5.1, Llama 3.1 8B and 405B, fp8 and nvfp4: iterations",
              .unit = "s"};
  const auto file = reference / "2026" / "mlperf_v5.1_llama31.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return {table, mlperf_experts(reference)};
  }
  int unknown = 0;
  for (auto& row : tests::read_csv(file)) {
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(std::stod(row.at(name)));
    };
    const std::string node = node_of(row.at("accelerator"));
    if (node.empty() || row.at("tp").empty() || row.at("precision").empty()) {
      ++unknown;
      continue;
    }
    const bool large = row.at("model") == "Llama 3.1 405B";
    const bool fp4 = row.at("precision").starts_with("NVFP4");
    Layout layout{.model = large ? "llama-3-405b" : "llama-3-8b",
                  .node = node,
                  .tp = number("tp"),
                  .cp = number("cp"),
                  .pp = number("pp"),
                  .dp = number("dp"),
                  .chunks = row.at("vp").empty() ? 1 : number("vp"),
                  .microbatch = number("micro_batch"),
                  .microbatches = number("grad_acc"),
                  .sequence = number("sequence"),
                  .partition = large ? "ends_less" : "even",
                  .training = fmt::format(", precision: {}", fp4 ? "nvfp4" : "fp8")};
    if (row.at("cuda_graph") == "1")
      layout.training += fmt::format(", cuda_graphs: {}", large ? "iteration" : "layer");
    table.rows.push_back(
        {.name = fmt::format("{} {}, {} {}, tp {} cp {} pp {} dp {}, {}", row.at("org"),
                             layout.model, layout.gpus(), node, layout.tp, layout.cp, layout.pp,
                             layout.dp, fp4 ? "nvfp4" : "fp8"),
         .scenario = scenario_of(layout),
         .predict = makespan,
         .measured = std::stod(row.at("median_step_s")),
         // The host's time for a kernel beside GB200 and GB300.
         .is_fitted = !large && node != "dgx-h100"});
  }
  table.left_out = fmt::format("{} rows whose layout is not told", unknown);
  return {table, mlperf_experts(reference)};
}

}  // namespace pipewright::accuracy
