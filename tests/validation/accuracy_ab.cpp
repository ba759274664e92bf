#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

using Cells = std::map<std::string, std::string>;

std::uint32_t number(const Cells& row, const char* name) {
  return row.at(name).empty() ? 1 : static_cast<std::uint32_t>(std::stoul(row.at(name)));
}

bool says(const Cells& row, const char* words) {
  return row.at("variant").find(words) != std::string::npos;
}

// "recompute modules: mla_up_proj+mlp", "recompute mlp".
std::string modules_of(const std::string& variant) {
  const std::string word = "recompute ";
  if (!variant.starts_with(word)) return "";
  std::string modules = variant.substr(variant.rfind(' ') + 1);
  std::ranges::replace(modules, '+', ',');
  return fmt::format(", recompute: {{modules: [{}]}}", modules);
}

// Main parameters are fp32: the recipes ask for a precision-aware optimizer, but its flag that has
// remainders is off, as mixed_precision.py names an FP8 recipe of bf16 runs as well.
// src/megatron/bridge/recipes/qwen/h100/qwen3_moe.py.
Layout qwen(const Cells& row) {
  const bool hybridep = says(row, "HybridEP");
  return {.training = fmt::format(
              ", optimizer: {{main_grads: bf16}}, {}"
              "experts: {{routing: forced, dispatcher: {}, sms: 32, overlap: {}, delay_wgrad: {}}}",
              says(row, "CUDA graphs moe_router+moe_preprocess")
                  ? "cuda_graphs: [moe_router, moe_preprocess], "
                  : "",
              hybridep ? "hybridep" : "alltoall",
              says(row, "overlap on") || says(row, "EP overlap +"), says(row, "+ delay_wgrad")),
          .communication = "gradient_bytes: 2"};
}

// src/megatron/bridge/recipes/moonlight/h100/moonlight_16b.py: moments in bf16.
Layout moonlight(const Cells& row) {
  return {.training =
              ", optimizer: {exp_avg: bf16, exp_avg_sq: bf16, main_grads: bf16}, experts: "
              "{routing: forced, shared_overlap: true}" +
              modules_of(row.at("variant")),
          .communication = "gradient_bytes: 2"};
}

// src/megatron/bridge/perf_recipes/llama/h100/llama3.py: FP8 weights without a transposed copy.
Layout llama(const Cells& row) {
  return {.training =
              ", precision: fp8, fp8_param_gather: true, bytes: {weights: 1}, "
              "optimizer: {main_grads: bf16}, cuda_graphs: layer" +
              modules_of(row.at("variant")),
          .communication = "gradient_bytes: 2"};
}

struct Recipe {
  const char* published;
  const char* model;
  std::function<Layout(const Cells&)> layout;
};

Row run_of(const Recipe& recipe, const Cells& row) {
  Layout layout = recipe.layout(row);
  layout.model = recipe.model;
  layout.node = "dgx-h100";
  layout.stack = "megatron-bridge";
  layout.tp = number(row, "tp");
  layout.cp = number(row, "cp");
  layout.pp = number(row, "pp");
  layout.dp = number(row, "gpus") / layout.tp / layout.cp / layout.pp;
  layout.ep = row.at("ep").empty() ? 0 : number(row, "ep");
  layout.chunks = number(row, "vp");
  layout.microbatch = number(row, "micro_batch");
  layout.microbatches = number(row, "global_batch") / layout.dp / layout.microbatch;
  layout.sequence = number(row, "sequence");
  return {
      .name = fmt::format("{}, {} H100, {}", row.at("model"), row.at("gpus"), row.at("variant")),
      .scenario = scenario_of(layout),
      .predict = makespan};
}

double first_gib(const Run& run) { return allocated_gib(run.summary.devices.front()); }

// Where it does not say otherwise in gigabytes, as Megatron-Bridge logs it (train_utils.py,
// report_memory).
double gib_of(const Cells& row) {
  const double number = std::stod(row.at("peak_memory_GB"));
  return row.at("status").find("GiB") != std::string::npos ? number : number * 1e9 / (1U << 30U);
}

// Seconds of an iteration, or what they are in proportion to.
double seconds_of(const Cells& row) {
  return row.at("step_s").empty() ? 1 / std::stod(row.at("TFLOPs_per_gpu"))
                                  : std::stod(row.at("step_s"));
}

}  // namespace

// github.com/NVIDIA-NeMo/Megatron-Bridge, skills/: one switch changed, beside the first row of the
// same model and layout. Memory is the first device's, or as much as it is.
std::vector<Table> bridge_pairs(const std::filesystem::path& reference) {
  const std::string source = "Megatron-Bridge, one switch changed, 30B, 16B and 70B on H100: ";
  Table pairs{.title = source + "time over time", .unit = "ratio"};
  Table memory{.title = source + "peak memory", .unit = "GiB", .bars = {.mean = 10}};
  const auto file = reference / "2026" / "megatron_bridge_ab_tests.csv";
  if (!std::filesystem::exists(file)) {
    pairs.skipped = memory.skipped = file.string() + ": no such file";
    return {pairs, memory};
  }
  const std::vector<Recipe> recipes{{"Qwen3-30B-A3B", "qwen3-30b-a3b", qwen},
                                    {"Moonlight-16B", "moonlight-16b", moonlight},
                                    {"Llama3-70B SFT", "llama-3-70b", llama}};
  std::map<std::string, std::pair<std::string, double>> first;  // scenario and seconds
  for (const Cells& row : tests::read_csv(file)) {
    const auto recipe = std::ranges::find(recipes, row.at("model"), &Recipe::published);
    if (recipe == recipes.end()) continue;
    Row run = run_of(*recipe, row);
    if (!row.at("peak_memory_GB").empty()) {
      memory.rows.push_back(run);
      memory.rows.back().predict = first_gib;
      memory.rows.back().measured = gib_of(row);
    }
    // Rows of one source file with one layout.
    const std::string layout =
        row.at("model") + row.at("pp") + (says(row, "HybridEP") ? " hybridep" : "");
    if (layout == "Llama3-70B SFT8") continue;  // has no other
    const auto [base, is_first] = first.try_emplace(layout, run.scenario, seconds_of(row));
    if (is_first) continue;
    run.against = base->second.first;
    run.measured = seconds_of(row) / base->second.second;
    pairs.rows.push_back(run);
  }
  return {pairs, memory};
}

}  // namespace pipewright::accuracy
