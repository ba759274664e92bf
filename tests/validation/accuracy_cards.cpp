#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

using Cells = std::map<std::string, std::string>;

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> models{
    {{"deepseek-v4-flash", "deepseek-v4-flash"},
     {"gpt-oss-120b", "gpt-oss-120b"},
     {"moonlight-16b-a3b", "moonlight-16b"},
     {"qwen3-30b-a3b", "qwen3-30b-a3b"},
     {"qwen3-8b", "qwen3-8b"},
     {"qwen3.6-35b-a3b", "qwen3.6-35b-a3b"}}};

std::string model_of(const Cells& row) {
  const auto* const found =
      std::ranges::find(models, row.at("model"), &decltype(models)::value_type::first);
  return found == models.end() ? "" : std::string(found->second);
}

bool says(const Cells& row, const char* column, const char* word) {
  return row.at(column).find(word) != std::string::npos;
}

std::uint32_t number(const Cells& row, const char* name) {
  return row.at(name).empty() ? 1 : static_cast<std::uint32_t>(std::stoul(row.at(name)));
}

bool has_images(const Cells& row) { return says(row, "note", "vision tower"); }
bool is_on_gb200(const Cells& row) { return row.at("gpu_type") == "GB200"; }

// The reason why a row cannot be described in a scenario; empty: it can. Runs of Gemma 4 had ten
// steps, and the metrics are means of all of them, with the first one, which compiles kernels.
std::string hindrance(const Cells& row) {
  if (says(row, "model", "gemma")) return "whose mean includes the first step";
  if (says(row, "note", "deterministic")) return "with images of sizes that are not told";
  if (row.at("packing") == "offline") return "packed of documents whose lengths are not told";
  if (row.at("packing") == "in_batch") return "packed of samples whose lengths are not told";
  if (model_of(row).empty()) return "of a model whose sizes are not told";
  return "";
}

// Returns the graphs of "transformer_engine: moe_router moe_preprocess". Graphs of mlp are of dense
// layers, which none of these models has.
std::string graphs_of(const Cells& row) {
  if (!row.at("cuda_graph").starts_with("transformer_engine: ")) return "";
  std::string modules;
  for (const char* const module : {"attn", "moe_router", "moe_preprocess"})
    if (says(row, "cuda_graph", module))
      modules += fmt::format("{}{}", modules.empty() ? "" : ", ", module);
  return fmt::format(", cuda_graphs: [{}]", modules);
}

// Qwen3-30B's recipe on GB200 fuses the operations of experts (use_transformer_engine_op_fuser).
bool has_fused_experts(const Cells& row) { return says(row, "model", "30b") && is_on_gb200(row); }

std::string experts_of(const Cells& row) {
  if (row.at("dispatcher").empty()) return "";
  return fmt::format(
      ", experts: {{routing: {}, dispatcher: {}, overlap: {}, delay_wgrad: {}, op_fuser: {}{}}}",
      says(row, "routing", "forced") ? "forced" : "natural", row.at("dispatcher"),
      says(row, "ep_overlap", "yes"), says(row, "ep_overlap", "wgrad delayed"),
      has_fused_experts(row), has_images(row) && is_on_gb200(row) ? ", sms: 32" : "");
}

// Returns the stack, without fusions that the recipe does not have: positions of images have no
// fused rotary embedding, and recipes of gpt-oss, of DeepSeek-V4 and of the tuned run on H100 with
// images do not set moe_router_fusion, which is off by default.
std::string stack_of(const Cells& row) {
  const bool tuned_images = has_images(row) && row.at("tuned") == "yes";
  const bool fuses_router = !says(row, "model", "gpt-oss") && !says(row, "model", "v4") &&
                            !(tuned_images && !is_on_gb200(row));
  if (!has_images(row) && fuses_router) return "megatron-bridge";
  return fmt::format(
      "{{like: megatron-bridge, fused: [norm, activation, {}softmax, residual, cross_entropy, "
      "permutation, {}optimizer]}}",
      has_images(row) ? "" : "rope, ", fuses_router ? "router, " : "");
}

// Returns the recomputation of rows with images and of DeepSeek-V4, whose other rows have none. The
// output norm of gated delta nets (gdn_norm_out) is no module of its own in a scenario.
std::string recompute_of(const Cells& row) {
  if (says(row, "recompute", "full")) return ", recompute: full";
  std::string modules;
  for (const std::string_view module : {"core_attn", "moe_act", "mla_up_proj", "mhc"})
    if (says(row, "recompute_modules", std::string(module).c_str()))
      modules += fmt::format("{}{}", modules.empty() ? "" : ", ", module);
  return modules.empty() ? "" : fmt::format(", recompute: {{modules: [{}]}}", modules);
}

// Image and text of a sample of recipes that pad it to the sequence: dataset.pad_to_max_length in
// commands of H100 and in recipes of GB200 (recipes/qwen_vl). Images have 448 x 448 pixels in the
// commands, and 256 x 256 in the synthetic data of the tuned run on GB200; the projector makes a
// token of four patches of 16 x 16. The tokens of text are not told: about 100 are assumed, a few
// of which more or less change nothing beside thousands of padding.
struct Sample {
  std::uint32_t patches;
  std::uint32_t text = 100;
  std::uint32_t tokens() const { return patches / 4 + text; }
};

Sample sample_of(const Cells& row) {
  constexpr Sample small{.patches = 16 * 16};
  constexpr Sample large{.patches = 28 * 28};
  return is_on_gb200(row) && row.at("tuned") == "yes" ? small : large;
}

// Returns the layers of stages: those of the recipe (num_layers_in_first_pipeline_stage), or for
// DeepSeek-V4 the layers divided evenly, the rest to the first stages.
std::string partition_of(const Cells& row) {
  if (says(row, "model", "v4")) return "[6, 6, 6, 5, 5, 5, 5, 5]";
  if (!has_images(row) || row.at("pp") != "2") return "even";
  return row.at("tuned") == "yes" ? "[16, 24]" : "[17, 23]";
}

// Adds what rows with images say. Their recipes reduce gradients after the last backward pass, and
// in 16 bits except for fine-tuning on H100. Adapters are of all modules of these names, those of
// the encoder, too (PEFT.__call__ of peft/base.py), and all experts of a rank share them
// (share_expert_adapters of peft/lora.py).
void add_images(const Cells& row, Layout& layout) {
  const Sample sample = sample_of(row);
  const bool wide_gradients = row.at("task") != "pretrain" && !is_on_gb200(row);
  layout.training += fmt::format(
      "{}{}, lengths: {{documents: [{}], packed: false, pad_to: sequence}}{}", recompute_of(row),
      wide_gradients ? "" : ", bytes: {gradients: 2}", sample.tokens(),
      row.at("task") == "LoRA" ? ", lora: {rank: 32, experts: shared}" : "");
  layout.communication += ", overlap_grad_reduce: false, overlap_param_gather: false";
  layout.modules =
      fmt::format("vision: {{tokens: {}, adapters: {}}}", sample.patches, row.at("task") == "LoRA");
}

Layout layout_of(const Cells& row) {
  Layout layout{.model = model_of(row),
                .node = is_on_gb200(row) ? "gb200-nvl72" : "dgx-h100",
                .stack = stack_of(row),
                .tp = number(row, "tp"),
                .cp = number(row, "cp"),
                .pp = number(row, "pp"),
                .dp = number(row, "dp"),
                .chunks = number(row, "vp"),
                .microbatch = number(row, "micro_batch"),
                .sequence = number(row, "sequence"),
                .sequence_parallel = row.at("sequence_parallel") == "yes",
                .partition = partition_of(row)};
  if (!row.at("dispatcher").empty()) {
    layout.ep = number(row, "ep");
    layout.etp = number(row, "etp");
  }
  layout.microbatches = number(row, "global_batch") / layout.dp / layout.microbatch;
  layout.training =
      fmt::format(", precision: {}{}{}", row.at("precision") == "fp8_mx" ? "mxfp8" : "bf16",
                  graphs_of(row), experts_of(row));
  layout.communication = fmt::format("tp_comm_overlap: {}", row.at("tp_comm_overlap") == "yes");
  if (has_images(row)) add_images(row, layout);
  if (says(row, "model", "v4")) layout.training += recompute_of(row);
  return layout;
}

}  // namespace

// github.com/NVIDIA-NeMo/Megatron-Bridge, examples/model_verification_cards: means of the last ten
// steps. Rows of recipes that are tuned for speed say so; the others are sanity checks.
std::vector<Table> bridge_cards(const std::filesystem::path& reference) {
  Table table{.title =
                  "Megatron-Bridge's verification cards, 8B to 284B on 8 to 64 H100 and GB200, "
                  "megatron-bridge: iterations",
              .unit = "s"};
  Table images{.title =
                   "Megatron-Bridge's verification cards, Qwen3.6 35B-A3B with images on 8 GB200 "
                   "and 16 H100: iterations",
               .unit = "s"};
  const auto file = reference / "2026b" / "bridge_verification_cards.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = images.skipped = file.string() + ": no such file";
    return {table, images};
  }
  std::map<std::string, int> hindrances;
  for (const Cells& row : tests::read_csv(file)) {
    if (const std::string why = hindrance(row); !why.empty()) {
      ++hindrances[why];
      continue;
    }
    const Layout layout = layout_of(row);
    // Configurations of these models have one module of multi-token prediction
    // (mtp_num_hidden_layers, num_nextn_predict_layers), which Megatron-Bridge takes over.
    const bool predicts_tokens = has_images(row) || says(row, "model", "v4");
    (has_images(row) ? images : table)
        .rows.push_back(
            {.name = fmt::format("{}, {} {}, {}{}", layout.model, layout.gpus(), row.at("gpu_type"),
                                 row.at("task"), row.at("tuned") == "yes" ? ", tuned" : ""),
             .scenario = scenario_of(layout),
             .predict = makespan,
             .measured = std::stod(row.at("step_s")),
             .settings = predicts_tokens ? std::vector<std::string>{"model.mtp_layers=1"}
                                         : std::vector<std::string>{}});
  }
  for (const auto& [why, count] : hindrances)
    table.left_out += fmt::format("{}{} rows {}", table.left_out.empty() ? "" : ", ", count, why);
  return {table, images};
}

}  // namespace pipewright::accuracy
