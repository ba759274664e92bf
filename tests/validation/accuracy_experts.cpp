#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

using Cells = std::map<std::string, std::string>;

std::string model_of(const std::string& published) {
  const std::map<std::string, std::string> names{{"DeepSeekV3", "deepseek-v3"},
                                                 {"GPT OSS 120B", "gpt-oss-120b"},
                                                 {"Nemotron_3_Nano", "nemotron-3-nano-30b-a3b"},
                                                 {"Qwen3_30B_a3B", "qwen3-30b-a3b"}};
  const auto found = names.find(published);
  return found == names.end() ? "" : found->second;
}

// Returns the modules of a cell as a list: those after "modules:" in "modules:layernorm+moe_act".
std::string list_after(const std::string& word, const std::string& cell) {
  if (!cell.starts_with(word)) return "";
  std::string modules = cell.substr(word.size());
  std::ranges::replace(modules, '+', ',');
  return fmt::format("[{}]", modules);
}

std::string modules_of(const std::string& recompute) {
  const std::string modules = list_after("modules:", recompute);
  return modules.empty() ? "" : fmt::format(", recompute: {{modules: {}}}", modules);
}

// Returns the graphs of "transformer_engine:attn+mamba", or of "transformer_engine" alone, which
// captures whole layers.
std::string graphs_of(const std::string& graph) {
  if (graph.empty()) return "";
  if (graph == "full_iteration") return ", cuda_graphs: iteration";
  const std::string modules = list_after("transformer_engine:", graph);
  return fmt::format(", cuda_graphs: {}", modules.empty() ? "layer" : modules);
}

// Recipes with a graph of the whole iteration overlap and fuse operations, whether the row tells or
// not, and all that overlap delay weight gradients (perf_recipes/qwen/common.py, gpt_oss/common.py
// and deepseek/common.py).
std::string switches_of(const Cells& row) {
  if (row.at("cuda_graph") == "full_iteration")
    return ", overlap: true, delay_wgrad: true, op_fuser: true";
  return row.at("moe_a2a_overlap") == "True" ? ", overlap: true, delay_wgrad: true" : "";
}

// Why a row cannot be told in a scenario; empty: it can.
std::string hindrance(const Cells& row) {
  if (model_of(row.at("model")).empty()) return "of another model";
  if (row.at("moe_dispatcher").empty()) return "without a recipe that tells of the dispatcher";
  return "";
}

}  // namespace

// github.com/NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary: mixtures of experts, routed
// evenly. As in the dense rows, the step time is batch x sequence over the published tokens/s.
std::vector<Table> bridge_experts(const std::filesystem::path& reference) {
  Table table{.title =
                  "Megatron-Bridge, mixtures of experts of 30B to 671B on 8 to 256 H100 to "
                  "GB300: iterations",
              .unit = "s"};
  const auto file = reference / "2026" / "megatron_bridge_performance.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return {table};
  }
  std::map<std::string, int> hindrances;
  for (const Cells& row : tests::read_csv(file)) {
    if (row.at("model").starts_with("LLAMA")) continue;
    if (const std::string why = hindrance(row); !why.empty()) {
      ++hindrances[why];
      continue;
    }
    const auto number = [&](const char* name) {
      return row.at(name).empty() ? 1 : static_cast<std::uint32_t>(std::stoul(row.at(name)));
    };
    Layout layout{.model = model_of(row.at("model")),
                  .node = node_named(row.at("gpu_type")),
                  .stack = "megatron-bridge",
                  .tp = number("tp"),
                  .cp = number("cp"),
                  .pp = number("pp"),
                  .dp = number("dp"),
                  .ep = number("ep"),
                  .chunks = number("vp"),
                  .microbatch = number("micro_batch"),
                  .sequence = number("sequence"),
                  .communication = "gradient_bytes: 2"};
    Row run;
    if (layout.model == "deepseek-v3") {
      // The recipes of 16 stages that tell of their layout have this one.
      run.settings = {"model.mtp_layers=1"};
      if (layout.pp * layout.chunks == 16) layout.partition = "'Et*4|(t*4|)*14tmL'";
    }
    layout.microbatches = number("global_batch") / layout.dp / layout.microbatch;
    layout.training = fmt::format(
        ", precision: {}, bytes: {{gradients: 2}}{}{}, experts: {{routing: forced, dispatcher: "
        "{}{}}}",
        recipe_of(row.at("precision")), modules_of(row.at("recompute")),
        graphs_of(row.at("cuda_graph")), row.at("moe_dispatcher"), switches_of(row));
    run.name = fmt::format("{} {}, {} {}, tp {} pp {} ep {}, {}", row.at("release"), layout.model,
                           layout.gpus(), layout.node, layout.tp, layout.pp, layout.ep,
                           row.at("precision"));
    run.scenario = scenario_of(layout);
    run.predict = makespan;
    run.measured = std::stod(row.at("derived_step_time_s"));
    // recurrence_efficiency of the GB200.
    const bool fits_recurrence = row.at("release") == "26.06.01" && layout.node == "gb200-nvl72";
    // host.loop of the stack megatron-core.
    const bool fits_loops = row.at("release") == "26.04" && layout.node == "dgx-h100" &&
                            layout.model == "qwen3-30b-a3b";
    // sinks_skip_masked of the stack megatron-core.
    const bool fits_sinks = layout.model == "gpt-oss-120b";
    run.is_fitted =
        (row.at("model") == "Nemotron_3_Nano" && fits_recurrence) || fits_loops || fits_sinks;
    table.rows.push_back(run);
  }
  for (const auto& [why, count] : hindrances)
    table.left_out += fmt::format("{}{} rows {}", table.left_out.empty() ? "" : ", ", count, why);
  return {table};
}

}  // namespace pipewright::accuracy
