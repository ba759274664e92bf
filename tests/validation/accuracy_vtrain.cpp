#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {

// Of github.com/VIA-Research/vTrain (data/ground_truth_multi.csv): Megatron-DeepSpeed on nodes of 8
// A100s and 4 HDR200, full recomputation. The authors' own simulator has 14.73 % on its whole set.
Table vtrain_iterations(const std::filesystem::path& reference) {
  Table table{.title = "vTrain, several nodes (github.com/VIA-Research/vTrain): iterations",
              .unit = "s",
              .bars = {.mean = 8}};
  const auto file = reference / "vtrain_iteration_times.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  for (auto& row : tests::read_csv(file)) {
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(std::stoul(row.at(name)));
    };
    const std::uint32_t tp = number("tensor parallelism");
    const std::uint32_t pp = number("pipeline parallelism");
    const std::uint32_t dp = number("data parallelism");
    const std::uint32_t microbatch = number("micro batch");
    const std::string scenario = fmt::format(
        "model: {{layers: {}, hidden: {}, heads: {}, vocabulary: 51200, sequence: {},\n"
        "        tied_embeddings: true, positions: learned, dropout: 0.1}}\n"
        "cluster: {}\n"
        "global_batch: {}\n"
        "parallel: {{tp: {}, pp: {}, dp: {}}}\n"
        "schedule: 1f1b\n"
        "p2p: blocking\n"
        "training: {{microbatch_size: {}, recompute: full, flash_attention: false,\n"
        "           fused_loss: false, fused_accumulation: false}}\n"
        "communication: {{overlap_grad_reduce: false,\n"
        "                async_tensor_model_parallel_allreduce: false}}\n",
        number("# layers"), number("hidden size"), number("attention heads"),
        number("sequence length"), cluster_of("a100-4nic", tp * pp * dp / 8),
        number("global batch"), tp, pp, dp, microbatch);
    table.rows.push_back({fmt::format("{}B, tp {} pp {} dp {}, microbatch {}",
                                      row.at("Parameters (billion)"), tp, pp, dp, microbatch),
                          scenario, makespan, std::stod(row.at("iteration time (ms)")) / 1e3,
                          table.rows.size() % 6 == 0});
  }
  return table;
}

}  // namespace pipewright::accuracy
