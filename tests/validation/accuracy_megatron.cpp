#include <array>

#include <fmt/format.h>

#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// Narayanan et al. 2021 (SC'21, arXiv 2104.04473), table 1: sizes and achieved TFLOP/s a GPU.
// Microbatch sizes and chunks are those of the authors' scripts (Megatron-LM,
// examples/academic_paper_scripts/sc21/run_table_1.sh).
struct Published {
  const char* model;
  std::uint32_t layers, hidden;
  std::uint32_t tp, pp, dp, batch, microbatch, chunks;
  double teraflops;
  bool is_fitted;
};
constexpr std::array<Published, 10> published{{
    {"1.7b", 24, 2304, 1, 1, 32, 512, 16, 1, 137, false},
    {"3.6b", 30, 3072, 2, 1, 32, 512, 16, 1, 138, true},
    {"7.5b", 36, 4096, 4, 1, 32, 512, 16, 1, 142, false},
    {"18.4b", 40, 6144, 8, 1, 32, 1024, 8, 1, 135, false},
    {"39.1b", 48, 8192, 8, 2, 32, 1536, 4, 1, 138, false},
    {"76.1b", 60, 10240, 8, 4, 32, 1792, 2, 3, 140, true},
    {"145.6b", 80, 12288, 8, 8, 24, 2304, 2, 2, 148, false},
    {"310.1b", 96, 16384, 8, 16, 15, 2160, 1, 2, 155, false},
    {"529.6b", 105, 20480, 8, 35, 9, 2520, 1, 3, 163, false},
    {"1008b", 128, 25600, 8, 64, 6, 3072, 1, 1, 163, true},
}};

// Seconds of an iteration, from equation 3 of the paper: FLOP with full recomputation.
double seconds(const Published& row) {
  constexpr double sequence = 2048;
  constexpr double vocabulary = 51200;
  const double h = row.hidden;
  const double flop = 96.0 * row.batch * sequence * row.layers * h * h *
                      (1 + sequence / (6 * h) + vocabulary / (16 * row.layers * h));
  return flop / (1e12 * row.teraflops * row.tp * row.pp * row.dp);
}

}  // namespace

Table megatron_iterations() {
  Table table{.title = "Megatron-LM, weak scaling (arXiv 2104.04473, table 1): iterations",
              .unit = "s",
              .bars = {.mean = 6, .each = 12}};
  for (const Published& row : published) {
    const std::uint32_t gpus = row.tp * row.pp * row.dp;
    const std::string scenario = fmt::format(
        "model: megatron-{}\n"
        "cluster: {}\n"
        "global_batch: {}\n"
        "parallel: {{tp: {}, pp: {}, dp: {}}}\n"
        "schedule: {}\n"
        "p2p: blocking\n"
        "stack: megatron-lm-2022\n"
        "training: {{microbatch_size: {}, recompute: full}}\n"
        "communication: {{overlap_grad_reduce: false}}\n",
        row.model, cluster_of("dgx-a100", gpus / 8), row.batch, row.tp, row.pp, row.dp,
        row.chunks == 1 ? "1f1b"
                        : fmt::format("{{name: interleaved-1f1b, chunks: {}}}", row.chunks),
        row.microbatch);
    table.rows.push_back({fmt::format("{}, tp {} pp {} dp {}, {} chunks", row.model, row.tp, row.pp,
                                      row.dp, row.chunks),
                          scenario, makespan, seconds(row), row.is_fitted});
  }
  return table;
}

}  // namespace pipewright::accuracy
