#include <array>

#include <fmt/format.h>

#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {
namespace {

struct Published {
  bool is_lora;
  const char* node;
  std::uint32_t gpus, tp, pp, chunks;
  const char* precision;
  double tokens_per_gpu;  // per second
};

// github.com/NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary-archive.md, container 26.06:
// Llama 3 70B, 32 samples of 4,096 tokens.
constexpr std::array published{
    Published{true, "gb300-nvl72", 8, 1, 2, 20, "fp8", 7481},
    Published{true, "gb300-nvl72", 8, 1, 2, 20, "mxfp8", 7447},
    Published{true, "gb200-nvl72", 8, 1, 2, 20, "fp8", 6206},
    Published{true, "gb200-nvl72", 8, 1, 4, 20, "mxfp8", 5958},
    Published{true, "dgx-h100", 8, 2, 4, 20, "fp8", 2643},
    Published{false, "gb300-nvl72", 32, 1, 2, 20, "fp8", 4819},
    Published{false, "gb300-nvl72", 32, 1, 2, 20, "mxfp8", 4312},
    Published{false, "gb200-nvl72", 32, 1, 8, 10, "fp8", 3864},
    Published{false, "gb200-nvl72", 32, 1, 8, 10, "mxfp8", 3593},
    Published{false, "dgx-h100", 32, 4, 4, 5, "fp8", 1638},
};

// The recipes are src/megatron/bridge/perf_recipes/llama/*/llama3.py: adapters of rank 16 beside
// the product of queries, keys and values; FP8 weights, which current scaling stores once and MXFP8
// by rows and by columns; and CUDA graphs of the MLPs, except in LoRA on H100. Questions of SQuAD
// are packed into the samples. Assumed: a question with its paragraph and answer has 175 tokens in
// the mean, and one of 20 more than 300, as words of SQuAD 1.1 take 1.3 tokens of Llama 3.
Layout layout_of(const Published& run) {
  const bool is_h100 = std::string(run.node) == "dgx-h100";
  const bool is_tensorwise = std::string(run.precision) == "fp8";
  Layout layout{.model = "llama-3-70b",
                .node = run.node,
                .stack = "megatron-bridge",
                .tp = run.tp,
                .pp = run.pp,
                .dp = run.gpus / run.tp / run.pp,
                .chunks = run.chunks,
                .sequence = 4096};
  layout.microbatches = 32 / layout.dp;
  layout.training = fmt::format(
      ", precision: {}, fp8_param_gather: true{}, optimizer: {{main_grads: bf16}}, lengths: "
      "{{mean: "
      "175, p95: 300}}{}{}",
      run.precision, is_tensorwise ? ", bytes: {weights: 1}" : "",
      run.is_lora ? ", lora: {rank: 16, modules: [linear_qkv]}" : "",
      is_h100 && run.is_lora ? "" : ", cuda_graphs: [mlp]");
  layout.communication =
      fmt::format("gradient_bytes: 2{}", run.tp > 1 ? ", tp_comm_overlap: true" : "");
  return layout;
}

}  // namespace

std::vector<Table> fine_tuning(const std::filesystem::path&) {
  std::vector<Table> tables{
      {.title = "Megatron-Bridge, LoRA of Llama 3 70B on 8 H100, GB200 and GB300: iterations",
       .unit = "s"},
      {.title =
           "Megatron-Bridge, fine-tuning of Llama 3 70B on 32 H100, GB200 and GB300: iterations",
       .unit = "s"}};
  for (const Published& run : published) {
    const Layout layout = layout_of(run);
    constexpr double tokens = 32.0 * 4096;
    tables[run.is_lora ? 0 : 1].rows.push_back(
        {.name = fmt::format("{} {}, {}, tp {} pp {} x{}", run.gpus, run.node, run.precision,
                             run.tp, run.pp, run.chunks),
         .scenario = scenario_of(layout),
         .predict = makespan,
         .measured = tokens / run.gpus / run.tokens_per_gpu});
  }
  return tables;
}

}  // namespace pipewright::accuracy
