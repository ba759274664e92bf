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

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> models{
    {{"gpt-oss-120b", "gpt-oss-120b"},
     {"moonlight-16b-a3b", "moonlight-16b"},
     {"qwen3-30b-a3b", "qwen3-30b-a3b"},
     {"qwen3-8b", "qwen3-8b"}}};

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

// The reason why a row cannot be described in a scenario; empty: it can.
std::string hindrance(const Cells& row) {
  if (says(row, "note", "vision tower")) return "with a vision tower";
  if (row.at("packing") == "offline") return "packed of documents whose lengths are not told";
  if (model_of(row).empty()) return "of a model whose sizes are not told";
  return "";
}

// Returns the graphs of "transformer_engine: moe_router moe_preprocess".
std::string graphs_of(const Cells& row) {
  const std::string word = "transformer_engine: ";
  if (!row.at("cuda_graph").starts_with(word)) return "";
  std::string modules = row.at("cuda_graph").substr(word.size());
  std::ranges::replace(modules, ' ', ',');
  return fmt::format(", cuda_graphs: [{}]", modules);
}

std::string experts_of(const Cells& row) {
  if (row.at("dispatcher").empty()) return "";
  return fmt::format(", experts: {{routing: {}, dispatcher: {}, overlap: {}, delay_wgrad: {}}}",
                     says(row, "routing", "forced") ? "forced" : "natural", row.at("dispatcher"),
                     says(row, "ep_overlap", "yes"), says(row, "ep_overlap", "wgrad delayed"));
}

Layout layout_of(const Cells& row) {
  Layout layout{.model = model_of(row),
                .node = row.at("gpu_type") == "GB200" ? "gb200-nvl72" : "dgx-h100",
                .stack = "megatron-bridge",
                .tp = number(row, "tp"),
                .cp = number(row, "cp"),
                .pp = number(row, "pp"),
                .dp = number(row, "dp"),
                .chunks = number(row, "vp"),
                .microbatch = number(row, "micro_batch"),
                .sequence = number(row, "sequence"),
                .sequence_parallel = row.at("sequence_parallel") == "yes"};
  if (!row.at("dispatcher").empty()) {
    layout.ep = number(row, "ep");
    layout.etp = number(row, "etp");
  }
  layout.microbatches = number(row, "global_batch") / layout.dp / layout.microbatch;
  layout.training =
      fmt::format(", precision: {}{}{}", row.at("precision") == "fp8_mx" ? "mxfp8" : "bf16",
                  graphs_of(row), experts_of(row));
  layout.communication = fmt::format("tp_comm_overlap: {}", row.at("tp_comm_overlap") == "yes");
  return layout;
}

}  // namespace

// github.com/NVIDIA-NeMo/Megatron-Bridge, examples/model_verification_cards: means of the last ten
// steps. Rows of recipes that are tuned for speed say so; the others are sanity checks.
Table bridge_cards(const std::filesystem::path& reference) {
  Table table{.title =
                  "Megatron-Bridge's verification cards, 8B to 120B on 8 to 64 H100 and GB200, "
                  "megatron-bridge: iterations",
              .unit = "s"};
  const auto file = reference / "2026b" / "bridge_verification_cards.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  std::map<std::string, int> hindrances;
  for (const Cells& row : tests::read_csv(file)) {
    if (const std::string why = hindrance(row); !why.empty()) {
      ++hindrances[why];
      continue;
    }
    const Layout layout = layout_of(row);
    table.rows.push_back(
        {.name = fmt::format("{}, {} {}, {}{}", layout.model, layout.gpus(), row.at("gpu_type"),
                             row.at("task"), row.at("tuned") == "yes" ? ", tuned" : ""),
         .scenario = scenario_of(layout),
         .predict = makespan,
         .measured = std::stod(row.at("step_s"))});
  }
  for (const auto& [why, count] : hindrances)
    table.left_out += fmt::format("{}{} rows {}", table.left_out.empty() ? "" : ", ", count, why);
  return table;
}

}  // namespace pipewright::accuracy
