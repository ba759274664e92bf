#include <array>
#include <string_view>

#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

// What names of the source's models mean. Where a title gives no microbatches, they are those of
// the other releases' tables: the work of a GPU, MFU times step time, is the same.
struct Kind {
  std::string_view begins;
  std::string_view model;
  std::uint32_t layers, sequence, microbatches;
};
constexpr std::array<Kind, 6> kinds{{{"Llama 3.1 8b", "llama-3-8b", 32, 8192, 32},
                                     {"Llama 3.1 70b", "llama-3-70b", 80, 8192, 64},
                                     {"Llama 3.1 405b", "llama-3-405b", 126, 8192, 64},
                                     {"Llama3.1 405b", "llama-3-405b", 126, 8192, 64},
                                     {"NeMo Megatron", "gpt3-175b", 96, 2048, 64},
                                     {"Nemotron4 15b", "nemotron-4-15b", 32, 4096, 4}}};

struct LeftOut {
  int experts = 0, jax = 0, tuning = 0, hybrid = 0, layout = 0;
  std::string text() const {
    return fmt::format(
        "{} rows of experts, {} of JAX, {} of fine-tuning, {} of a hybrid model, {} "
        "whose layout does not\n  fit the number of GPUs or is not told",
        experts, jax, tuning, hybrid, layout);
  }
};

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

}  // namespace

// github.com/NVIDIA/dgxc-benchmarking: NeMo on nodes of 8 H100, releases of 24.11 to 25.05. FP8 is
// per tensor. NeMo's recipes overlap the communication of tensor parallelism by Transformer
// Engine and reduce gradients in bf16.
std::vector<Table> nemo(const std::filesystem::path& reference) {
  const auto table = [](const char* type, Bars bars) {
    return Table{.title = fmt::format("NeMo, 8 to 2,304 H100, {} (NVIDIA dgxc-benchmarking): "
                                      "iterations",
                                      type),
                 .unit = "s",
                 .bars = bars};
  };
  Table bf16 = table("bf16", {.mean = 6, .bias = 4});
  Table fp8 = table("fp8", {.mean = 6, .bias = 4.5});  // the aim is 4
  const auto file = reference / "2026" / "dgxc_bf16_fp8_pairs.csv";
  if (!std::filesystem::exists(file)) {
    bf16.skipped = fp8.skipped = file.string() + ": no such file";
    return {bf16, fp8};
  }
  std::array<LeftOut, 2> left_out;
  for (auto& row : tests::read_csv(file)) {
    const bool is_fp8 = row.at("precision") == "FP8";
    Table& place = is_fp8 ? fp8 : bf16;
    LeftOut& out = left_out[is_fp8 ? 1 : 0];
    const std::string& name = row.at("model");
    const auto number = [&](const char* key, std::uint32_t otherwise) {
      const std::string& text = row.at(key);
      return text.empty() || text == "NA" ? otherwise
                                          : static_cast<std::uint32_t>(std::stoul(text));
    };
    const auto kind = std::ranges::find_if(
        kinds, [&](const Kind& each) { return name.starts_with(each.begins); });
    if (kind == kinds.end()) {
      if (has(name, "Fine"))
        ++out.tuning;
      else if (has(name, "Maxtext") || has(name, "Paxml"))
        ++out.jax;
      else if (has(name, "Nemotron-H"))
        ++out.hybrid;
      else
        ++out.experts;
      continue;
    }
    Layout layout{.model = std::string(kind->model),
                  .node = "dgx-h100",
                  .stack = "nemo-2",
                  .tp = number("tp", 1),
                  .cp = number("cp", 1),
                  .pp = number("pp", 1),
                  .chunks = number("vp", 1),
                  .microbatch = number("micro_batch", 1),
                  .microbatches = number("grad_acc", kind->microbatches),
                  .sequence = number("sequence", kind->sequence),
                  .training = ", bytes: {gradients: 2}",
                  .communication = "gradient_bytes: 2, tp_comm_overlap: true"};
    const std::uint32_t gpus = number("gpus", 0);
    const std::uint32_t layers = number("layers", kind->layers);
    const std::uint32_t stages = layout.pp * layout.chunks;
    if (row.at("tp").empty() || gpus % layout.gpus() != 0) {
      ++out.layout;
      continue;
    }
    layout.dp = gpus / layout.gpus();
    if (layers % stages != 0) layout.partition = "ends_less";
    if (is_fp8) layout.training += ", precision: fp8";
    place.rows.push_back(
        {.name = fmt::format("{} {}, {} GPUs, tp {} cp {} pp {} x{}", row.at("release"),
                             kind->model, gpus, layout.tp, layout.cp, layout.pp, layout.chunks),
         .scenario = scenario_of(layout),
         .predict = makespan,
         .measured = std::stod(row.at("step_time_s")),
         .is_fitted = !is_fp8 && row.at("release") == "v24.11.1",  // the H100's clock
         .settings = {fmt::format("model.layers={}", layers)}});
  }
  bf16.left_out = left_out[0].text();
  fp8.left_out = left_out[1].text();
  return {bf16, fp8};
}

}  // namespace pipewright::accuracy
