#include <fmt/format.h>

#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

// Sharding "PURE" reduces gradients in the data type of the products.
std::string mpt_scenario(const Cells& row) {
  Details details{.stack = "llm-foundry"};
  if (row.at("gpu_type").starts_with("A100")) {
    details.node = "a100-roce";
    details.gpu = row.at("gpu_type") == "A100-80GB" ? "a100-80gb" : "";
  }
  if (has(row, "sharding", "PURE")) details.communication = "gradient_bytes: 2";
  return scenario_of(row, details);
}

Table mpt_table(const std::filesystem::path& reference, const std::string& runs,
                const std::string& gpu, const std::string& precision) {
  return published_table({
      .title = fmt::format("MosaicML LLM Foundry, FSDP, {}, {}: iterations", runs, precision),
      .file = reference / "2026b" / "llm_foundry_mpt.csv",
      .selects =
          [gpu, precision](const Cells& row) {
            return row.at("gpu_type").starts_with(gpu) && row.at("precision") == precision;
          },
      .scenario = mpt_scenario,
      .remark = [](const Cells& row) -> std::string {
        return has(row, "sharding", "SHARD_GRAD_OP") ? "ZeRO-2" : "";
      },
      .is_fitted = gpu == "H100" && precision == "bf16",  // attention.fa1 of the H100
  });
}

}  // namespace

// github.com/mosaicml/llm-foundry, scripts/train/benchmarking: Composer with FSDP1, eager, 12
// steps. The A100s have 1,600 Gb/s of RoCE for each node.
// Assumed: the H100s, whose network is not stated, have a NIC of 400 Gb/s each.
std::vector<Table> llm_foundry(const std::filesystem::path& reference) {
  return {mpt_table(reference, "MPT 760M to 70B on 8 to 512 H100", "H100", "bf16"),
          mpt_table(reference, "MPT 125M to 70B on 8 to 128 A100", "A100", "bf16"),
          mpt_table(reference, "MPT 3B on 8 H100", "H100", "fp8")};
}

}  // namespace pipewright::accuracy
