#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

// Jean Zay's nodes have 4 Omni-Path NICs of 100 Gb/s, 12.5 GB/s nominal. Assumed: they reach as
// large a part of it as HDR200 does, and all nodes of a job are at one switch a NIC.
std::string cluster_of_row(const Cells& row) {
  constexpr double payload = 12e9;
  const std::uint32_t nodes = count_of(row, "nodes");
  return cluster_with_nics("a100-4nic", nodes, payload, nodes);
}

// DeepSpeed reduces gradients after the last backward pass, in fp16 if it trains in fp16. Assumed
// of all rows in bf16: gradients in fp32, as DeepSpeed's optimizer for bf16 keeps them beside those
// in bf16 (update_hp_grads of runtime/bf16_optimizer.py).
std::string scenario(const Cells& row) {
  const bool is_fp16 = precision_of(row) == "fp16";
  const std::string communication = "overlap_grad_reduce: false, overlap_param_gather: false";
  return scenario_of(row,
                     {.stack = "megatron-lm-2022",
                      .cluster = cluster_of_row(row),
                      .training = is_fp16 ? ", bytes: {gradients: 2}"
                                          : ", bytes: {gradients: 4, gradient_buckets: 2}",
                      .communication = communication + (is_fp16 ? ", gradient_bytes: 2" : ""),
                      // The embedding and the head count as layers of the first and the last stage.
                      .more = has(row, "flags", "type:transformer|embed") ? "p2p: blocking\n"
                                                                            "partition: ends_less\n"
                                                                          : "p2p: blocking\n"});
}

// With the sizes that make models of one name differ: "layers 80; hidden 14400; heads 64".
std::string remark(const Cells& row) {
  const std::string& shape = row.at("shape");
  return shape.substr(0, shape.find("; ffn"));
}

}  // namespace

// github.com/bigscience-workshop/bigscience, train/tr11-176B-ml/chronicles-prequel.md: the second
// iteration of each layout that was tried before BLOOM's training. From 25 February 2022 on, better
// settings of PCIe and NUMA made runs 1 to 5 % faster: no key describes them. Assumed from the
// script of the training that followed (train/tr11-176B-ml/tr11-176B-ml.slurm): dropout of 0.1, the
// framework's default, and ALiBi, which no key describes and which learned positions are nearest
// to. That script also waits for each kernel (CUDA_LAUNCH_BLOCKING), which is not modelled.
// Memory is nvidia-smi's of the fullest GPU. NCCL's buffers of the stack were fitted to every
// second row in fp16.
std::vector<Table> bloom_prequel(const std::filesystem::path& reference) {
  const std::string title =
      "BLOOM's first layouts (bigscience), 176B to 203B on 320 to 384 A100, Megatron-DeepSpeed of "
      "2022: ";
  Source source{.title = title + "iterations",
                .file = reference / "2026b" / "bloom_prequel_a100.csv",
                .scenario = scenario,
                .remark = remark};
  std::vector<Table> tables{published_table(source)};
  source.title = title + "peak memory";
  source.peak_memory = occupied_gib;
  tables.push_back(published_table(source));
  std::size_t fp16_rows = 0;
  for (Row& row : tables.back().rows)
    row.is_fitted =
        row.scenario.find("precision: fp16") != std::string::npos && fp16_rows++ % 2 == 0;
  for (Table& table : tables)
    for (Row& row : table.rows) row.settings = {"model.dropout=0.1"};
  return tables;
}

}  // namespace pipewright::accuracy
