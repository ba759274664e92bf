#include <array>

#include <fmt/format.h>

#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// "The Llama 3 Herd of Models" (arXiv 2407.21783), table 4: Llama 3 405B on H100s, TP 8, PP 16, one
// sequence a microbatch.
struct Published {
  std::uint32_t cp, dp;
  std::uint32_t sequence;
  std::uint32_t batch;  // sequences
  double teraflops;     // of a GPU
};
constexpr std::array<Published, 3> published{{
    {1, 64, 8192, 2048, 430},
    {1, 128, 8192, 2048, 400},
    {16, 8, 131072, 128, 380},
}};

// Seconds of an iteration: 6 FLOP for each of 405e9 parameters and token, and the half of
// attention's square that causality leaves, 6 x 126 layers x 16,384 wide x sequence.
double seconds(const Published& row) {
  const double tokens = static_cast<double>(row.sequence) * row.batch;
  const double flop = tokens * (6 * 405e9 + 6.0 * 126 * 16384 * row.sequence);
  return flop / (1e12 * row.teraflops * 128 * row.cp * row.dp);
}

}  // namespace

// One layer fewer on the first and the last stage (section 3.3.2), so 126 layers make 128 stages of
// one. ZeRO-1: sharded gradients are kept whole until the end of the iteration.
Table llama_iterations() {
  Table table{.title = "Llama 3 405B (arXiv 2407.21783, table 4): iterations", .unit = "s"};
  for (const Published& row : published)
    table.rows.push_back(
        {.name = fmt::format("{} GPUs, cp {} dp {}, {} tokens", 128 * row.cp * row.dp, row.cp,
                             row.dp, row.sequence),
         .scenario = fmt::format("model: llama-3-405b\n"
                                 "cluster: {}\n"
                                 "global_batch: {}\n"
                                 "parallel: {{tp: 8, pp: 16, cp: {}, dp: {}, sp: true, zero: 1, "
                                 "cp_comm_type: all_gather}}\n"
                                 "schedule: {{name: interleaved-1f1b, chunks: 8}}\n"
                                 "partition: ends_less\n"
                                 "symmetric: true\n"
                                 "training: {{sequence: {}}}\n",
                                 cluster_of("dgx-h100", 16 * row.cp * row.dp), row.batch, row.cp,
                                 row.dp, row.sequence),
         .predict = makespan,
         .measured = seconds(row)});
  return table;
}

}  // namespace pipewright::accuracy
