#include <array>

#include <fmt/format.h>

#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// Korthikanti et al. 2022 (Reducing Activation Recomputation in Large Transformer Models, arXiv
// 2205.05198), tables 3 and 5 and section 6.3. All have tensor parallelism of 8.
struct Iteration {
  const char* name;
  const char* model;
  std::uint32_t pp, dp, batch, microbatch, chunks;
  double full;       // seconds with full recomputation; 0: not published
  double selective;  // and with sequence parallelism
  bool is_fitted;
};
constexpr std::array<Iteration, 5> iterations{{
    {"22B", "megatron-22b", 1, 1, 4, 4, 1, 1.42, 1.10, false},
    {"175B", "gpt3-175b", 8, 1, 64, 1, 3, 18.13, 13.75, true},
    {"530B", "megatron-529.6b", 35, 1, 280, 1, 3, 49.05, 37.83, false},
    {"1T", "megatron-1008b", 64, 1, 512, 1, 1, 94.42, 71.49, false},
    {"530B, dp 8", "megatron-529.6b", 35, 8, 2240, 1, 3, 0, 39.15, false},
}};

// Table 4: forward and backward of a layer of 22B, in ms.
struct LayerTimes {
  const char* name;
  const char* recompute;
  bool sequence;
  double forward, backward;
};
constexpr std::array<LayerTimes, 5> layers{{
    {"nothing recomputed", "none", false, 7.7, 11.9},
    {"sequence parallelism", "none", true, 7.2, 11.8},
    {"full", "full", false, 7.7, 19.5},
    {"selective", "selective", false, 7.7, 13.2},
    {"selective, sequence parallelism", "selective", true, 7.2, 13.1},
}};

// Megatron-LM as it was when the paper came out: products of W accumulate the gradients, and
// communication of tensor parallelism runs beside them (section 4.2.2).
constexpr const char* training =
    "stack: megatron-lm-2022\n"
    "training: {{microbatch_size: {}, recompute: {}, fused_accumulation: true}}\n"
    "parallel: {{tp: 8, pp: {}, dp: {}, sequence: {}}}\n";

Row iteration_row(const Iteration& row, const char* recompute, double measured) {
  const bool sequence = recompute == std::string("selective");
  const std::string scenario =
      fmt::format(
          "model: {}\ncluster: {}\nglobal_batch: {}\nschedule: {}\n"
          "p2p: blocking\ncommunication: {{overlap_grad_reduce: false, "
          "async_tensor_model_parallel_allreduce: true}}\n",
          row.model, cluster_of("dgx-a100", row.pp * row.dp), row.batch,
          row.chunks == 1 ? "1f1b"
                          : fmt::format("{{name: interleaved-1f1b, chunks: {}}}", row.chunks)) +
      fmt::format(training, row.microbatch, recompute, row.pp, row.dp, sequence);
  return {fmt::format("{}, {}", row.name, recompute), scenario, makespan, measured, row.is_fitted};
}

// What stage 2 of the layers' scenarios takes more than stage 1: one layer, in ms.
double layer_ms(const Run& run, schedules::PassKind kind) {
  const auto& seconds = run.costs.times.of_stage[static_cast<std::size_t>(kind)];
  return 1e3 * (seconds[2] - seconds[1]);
}

}  // namespace

Table recompute_iterations() {
  Table table{.title = "Recomputation (arXiv 2205.05198, tables 3 and 5, section 6.3): iterations",
              .unit = "s",
              .bars = {.mean = 6}};
  for (const Iteration& row : iterations) {
    if (row.full > 0) table.rows.push_back(iteration_row(row, "full", row.full));
    table.rows.push_back(iteration_row(row, "selective", row.selective));
  }
  return table;
}

Table recompute_layers() {
  Table table{.title = "Recomputation (arXiv 2205.05198, table 4): a layer of 22B on 8 GPUs",
              .unit = "ms"};
  for (const LayerTimes& row : layers) {
    const std::string scenario =
        fmt::format(
            "model: {{layers: 5, hidden: 6144, heads: 64, vocabulary: 51200,\n"
            "        sequence: 2048, tied_embeddings: true, positions: learned,\n"
            "        dropout: 0.1}}\n"
            "cluster: {}\nmicrobatches: 1\nschedule: 1f1b\npartition: [1, 1, 2, 1]\n"
            "communication: {{async_tensor_model_parallel_allreduce: true}}\n",
            cluster_of("dgx-a100", 4)) +
        fmt::format(training, 4, row.recompute, 4, 1, row.sequence);
    using schedules::PassKind;
    for (const auto& [name, kind, measured] :
         {std::tuple{"forward", PassKind::forward, row.forward},
          {"backward", PassKind::backward, row.backward}})
      table.rows.push_back({fmt::format("{}: {}", row.name, name), scenario,
                            [kind = kind](const Run& run) { return layer_ms(run, kind); }, measured,
                            true});
  }
  return table;
}

}  // namespace pipewright::accuracy
