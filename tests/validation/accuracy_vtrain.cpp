#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

using Cells = std::map<std::string, std::string>;

std::uint32_t number(const Cells& row, const char* name) {
  return static_cast<std::uint32_t>(std::stoul(row.at(name)));
}

// Megatron-DeepSpeed with full recomputation, on nodes of 8 A100s and 4 HDR200. The data does not
// state the vocabulary: 51,200 is assumed.
std::string scenario_of(const Cells& row) {
  const std::uint32_t tp = number(row, "tensor parallelism");
  const std::uint32_t pp = number(row, "pipeline parallelism");
  const std::uint32_t dp = number(row, "data parallelism");
  return fmt::format(
      "model: {{layers: {}, hidden: {}, heads: {}, vocabulary: 51200, sequence: {},\n"
      "        tied_embeddings: true, positions: learned, dropout: 0.1}}\n"
      "cluster: {}\n"
      "global_batch: {}\n"
      "parallel: {{tp: {}, pp: {}, dp: {}}}\n"
      "schedule: 1f1b\n"
      "p2p: blocking\n"
      "stack: megatron-lm-2022\n"
      "training: {{microbatch_size: {}, recompute: full}}\n"
      "communication: {{overlap_grad_reduce: false}}\n",
      number(row, "# layers"), number(row, "hidden size"), number(row, "attention heads"),
      number(row, "sequence length"), cluster_of("a100-4nic", std::max(1U, tp * pp * dp / 8)),
      number(row, "global batch"), tp, pp, dp, number(row, "micro batch"));
}

std::string layout_of(const Cells& row) {
  return fmt::format("tp {} pp {} dp {}, microbatch {}", row.at("tensor parallelism"),
                     row.at("pipeline parallelism"), row.at("data parallelism"),
                     row.at("micro batch"));
}

double seconds_of(const Cells& row) { return std::stod(row.at("iteration time (ms)")) / 1e3; }

}  // namespace

// github.com/VIA-Research/vTrain, data/ground_truth_multi.csv. The authors' own simulator has
// 14.73 % on its whole set.
Table vtrain_iterations(const std::filesystem::path& reference) {
  Table table{.title = "vTrain, several nodes (github.com/VIA-Research/vTrain): iterations",
              .unit = "s",
              .bars = {.mean = 8}};
  const auto file = reference / "vtrain_iteration_times.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  for (const Cells& row : tests::read_csv(file))
    table.rows.push_back(
        {.name = fmt::format("{}B, {}", row.at("Parameters (billion)"), layout_of(row)),
         .scenario = scenario_of(row),
         .predict = makespan,
         .measured = seconds_of(row),
         .is_fitted = table.rows.size() % 6 == 0});
  return table;
}

// The same source, data/ground_truth_single.csv: 180 layouts of each of two small models, many of
// which wait for their host.
Table vtrain_single_node(const std::filesystem::path& reference) {
  Table table{.title = "vTrain, small models on 2 to 8 A100 of one node: iterations", .unit = "s"};
  const auto file = reference / "2026b" / "vtrain_single_node.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  for (const Cells& row : tests::read_csv(file)) {
    const std::string job =
        fmt::format("{} layers of {}, {} GPUs, batch {}", row.at("# layers"), row.at("hidden size"),
                    row.at("# GPUs"), row.at("global batch"));
    table.rows.push_back({.name = fmt::format("{}, {}", job, layout_of(row)),
                          .scenario = scenario_of(row),
                          .predict = makespan,
                          .measured = seconds_of(row),
                          .job = job});
  }
  return table;
}

}  // namespace pipewright::accuracy
