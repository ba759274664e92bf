#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

// Whether a clock was fitted to that row: of GB200 and GB300, and of B200's fp8.
bool fixes_clock(const std::string& recipe, const std::map<std::string, std::string>& row) {
  const std::string& release = row.at("release");
  if (recipe == "fp8") return row.at("gpu_type") == "DGX-B200" && release == "25.09";
  const bool of_nvfp4 = recipe == "nvfp4" && row.at("gpu_type") == "DGX-GB200";
  return (recipe == "mxfp8" || of_nvfp4) && release.starts_with("26.02");
}

}  // namespace

// github.com/NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary: the dense models. The recipes
// overlap the communication of tensor parallelism by Transformer Engine; "FP8" is per tensor by
// current scaling. The step time is batch x sequence over the published tokens/s.
std::vector<Table> megatron_bridge(const std::filesystem::path& reference) {
  const auto file = reference / "2026" / "megatron_bridge_performance.csv";
  std::vector<Table> tables;
  for (const char* recipe : {"fp8", "mxfp8", "nvfp4"}) {
    tables.push_back({.title = fmt::format("Megatron-Bridge, 70B and 405B on 64 to 1,024 H100 to "
                                           "GB300, {}: iterations",
                                           recipe),
                      .unit = "s",
                      .bars = {.mean = 6.5, .bias = 4}});
    if (!std::filesystem::exists(file)) tables.back().skipped = file.string() + ": no such file";
  }
  if (!tables[0].skipped.empty()) return tables;
  tables.push_back({.title = "Megatron-Bridge, FSDP, 70B and 405B on 64 and 128 GB200 and GB300: "
                             "iterations",
                    .unit = "s",
                    .bars = {}});
  int experts = 0;
  for (auto& row : tests::read_csv(file)) {
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(std::stoul(row.at(name)));
    };
    const bool large = row.at("model") == "LLAMA3.1_405B";
    if (!large && row.at("model") != "LLAMA3_70B") {
      ++experts;
      continue;
    }
    Layout layout{.model = large ? "llama-3-405b" : "llama-3-70b",
                  .node = node_named(row.at("gpu_type")),
                  .stack = "megatron-bridge",
                  .tp = number("tp"),
                  .cp = number("cp"),
                  .pp = number("pp"),
                  .dp = number("dp"),
                  .chunks = row.at("vp").empty() ? 1 : number("vp"),
                  .microbatch = number("micro_batch"),
                  .sequence = number("sequence"),
                  .communication = "gradient_bytes: 2, tp_comm_overlap: true"};
    // 70B whole on each GPU is FSDP, also where the column does not say so.
    layout.fsdp = row.at("zero") == "megatron-fsdp" || layout.tp * layout.pp == 1;
    layout.microbatches = number("global_batch") / layout.dp / layout.microbatch;
    if (large && layout.pp > 1) layout.partition = "ends_less";
    const std::string recipe = recipe_of(row.at("precision"));
    layout.training = fmt::format(", precision: {}, bytes: {{gradients: 2}}", recipe);
    if (const std::string& layers = row.at("activation_offload_layers");
        layout.fsdp && !layers.empty())
      layout.training += fmt::format(", offload: {{num_layers: {}}}", layers);
    Table& table = layout.fsdp ? tables[3]
                               : tables[recipe == "fp8"     ? 0
                                        : recipe == "mxfp8" ? 1
                                                            : 2];
    table.rows.push_back({.name = fmt::format("{}{} {}, {} {}, tp {} cp {} pp {} x{}",
                                              layout.fsdp ? recipe + " " : "", row.at("release"),
                                              layout.model, layout.gpus(), layout.node, layout.tp,
                                              layout.cp, layout.pp, layout.chunks),
                          .scenario = scenario_of(layout),
                          .predict = makespan,
                          .measured = std::stod(row.at("derived_step_time_s")),
                          .is_fitted = fixes_clock(recipe, row)});
  }
  tables[0].left_out = fmt::format("of all four, {} rows of experts", experts);
  return tables;
}

}  // namespace pipewright::accuracy
