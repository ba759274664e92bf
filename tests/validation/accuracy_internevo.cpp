#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

// A NIC of 100 Gb/s reaches the part of its nominal rate that one of 200 Gb/s does.
constexpr double nic_bandwidth = 12e9;
constexpr std::uint32_t gpus_of_node = 8;

std::string internevo_scenario(const Cells& row) {
  const std::uint32_t nodes = (count_of(row, "gpus") + gpus_of_node - 1) / gpus_of_node;
  return scenario_of(
      row, {.stack = "internevo", .cluster = cluster_with_nics("a100-4nic", nodes, nic_bandwidth)});
}

// Runs of memory state microbatches and no global batch.
std::string memory_scenario(Cells row) {
  row["global_batch"] = std::to_string(count_of(row, "dp") * count_of(row, "grad_acc"));
  return internevo_scenario(row);
}

// "ZeRO-1 over 8 ranks" without what follows in brackets.
std::string sharding_remark(const Cells& row) {
  const std::string& sharding = row.at("sharding");
  return sharding.substr(0, sharding.find(" ("));
}

}  // namespace

// github.com/InternLM/InternEvo, doc/en/train_performance.md: nodes of 8 A100 with four NICs of
// 100 Gb/s. Rows with peaks of memory have no times.
// Assumed: every packed sample is one document of 2,048 tokens; tp is without sequence parallelism;
// memory is that of nvidia-smi.
std::vector<Table> internevo(const std::filesystem::path& reference) {
  Source source{
      .title = "InternEvo, ZeRO-1 over all ranks or a node, 7B on 8 to 512 A100: iterations",
      .file = reference / "2026b" / "internevo_a100_zero1.csv",
      .scenario = internevo_scenario,
      .remark = sharding_remark,
      .is_fitted = true,  // host.iteration of the stack internevo
  };
  const Table times = published_table(source);
  source.is_fitted = false;
  source.title = "InternEvo, pipelines and FSDP, 7B and 20B on 3 to 8 A800: peak memory";
  source.scenario = memory_scenario;
  source.peak_memory = occupied_gib;
  return {times, published_table(source)};
}

}  // namespace pipewright::accuracy
