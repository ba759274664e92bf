#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {

// github.com/pytorch/torchtitan, benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md: Llama 3.1 8B
// by FSDP2 over 8 nodes of 8 H100 with 96 GB of HBM2e at 500 W, tensor parallelism inside a node,
// of which "async TP" takes the communication beside the products (symmetric memory) and "vanilla
// TP" waits for it. Every second product is kept.
// Assumed: the hosts' network, a NIC of 400 Gb/s for each GPU.
std::vector<Table> torchtitan(const std::filesystem::path& reference) {
  const auto file = reference / "2026" / "torchtitan_2025.csv";
  Table table{.title = "torchtitan, FSDP2 and tp 8, 8B on 64 H100 of 500 W: iterations",
              .unit = "s",
              .bars = {}};
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return {table};
  }
  for (auto& row : tests::read_csv(file)) {
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(std::stoul(row.at(name)));
    };
    const std::uint32_t batch = number("local_batch") * number("dp_shard");
    const bool is_async = row.at("variant").starts_with("async");
    const bool has_rows = row.at("precision") == "float8 rowwise";
    const bool is_fp8 = row.at("precision").starts_with("float8");
    table.rows.push_back(
        {.name = fmt::format("{}, {} TP",
                             has_rows ? "fp8, a scale a row"
                             : is_fp8 ? "fp8, a scale a tensor"
                                      : "bf16",
                             is_async ? "async" : "vanilla"),
         .scenario = fmt::format(
             "model: llama-3-8b\n"
             "cluster: {}\n"
             "gpu: h100-sxm-96gb\n"
             "global_batch: {}\n"
             "parallel: {{tp: {}, shard: {}, sp: true}}\n"
             "symmetric: true\n"
             "stack: torchtitan\n"
             "training: {{microbatch_size: {}, sequence: {}, precision: {}, recompute: "
             "{{granularity: op}}}}\n"
             "communication: {{{}}}\n",
             cluster_of("dgx-h100", number("gpus") / 8), batch, number("tp"), number("dp_shard"),
             number("local_batch"), row.at("sequence"),
             has_rows ? "fp8-row"
             : is_fp8 ? "fp8"
                      : "bf16",
             is_async ? "tp_comm_overlap: true" : "async_tensor_model_parallel_allreduce: false"),
         .predict = makespan,
         .measured = static_cast<double>(batch) * number("sequence") /
                     (std::stod(row.at("tokens_per_s_per_gpu")) * number("gpus"))});
  }
  return {table};
}

}  // namespace pipewright::accuracy
