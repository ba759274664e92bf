#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

// A NIC of 100 Gb/s reaches the part of its nominal rate that one of 200 Gb/s does.
constexpr double nic_bandwidth = 12e9;
constexpr std::uint32_t gpus_of_node = 8;

std::string internevo_scenario(const Cells& row) {
  const std::uint32_t nodes = count_of(row, "gpus") / gpus_of_node;
  return scenario_of(
      row, {.stack = "internevo", .cluster = cluster_with_nics("a100-4nic", nodes, nic_bandwidth)});
}

// "ZeRO-1 over 8 ranks" without what follows in brackets.
std::string sharding_remark(const Cells& row) {
  const std::string& sharding = row.at("sharding");
  return sharding.substr(0, sharding.find(" ("));
}

}  // namespace

// github.com/InternLM/InternEvo, doc/en/train_performance.md: nodes of 8 A100 with four NICs of
// 100 Gb/s. The file's other rows have peaks of memory without times.
// Assumed: every packed sample is one document of 2,048 tokens; tp is without sequence parallelism.
std::vector<Table> internevo(const std::filesystem::path& reference) {
  return {published_table({
      .title = "InternEvo, ZeRO-1 over all ranks or a node, 7B on 8 to 512 A100: iterations",
      .file = reference / "2026b" / "internevo_a100_zero1.csv",
      .scenario = internevo_scenario,
      .remark = sharding_remark,
  })};
}

}  // namespace pipewright::accuracy
