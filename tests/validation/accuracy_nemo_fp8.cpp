#include <fmt/format.h>

#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

// The first layers of a shape: "layers 126".
std::uint32_t layers_of(const Cells& row) {
  const std::string& shape = row.at("shape");
  const std::string word = "layers ";
  return shape.starts_with(word) ? static_cast<std::uint32_t>(std::stoul(shape.substr(word.size())))
                                 : 0;
}

// NeMo's recipes overlap the communication of tensor parallelism, reduce gradients in bf16 and put
// a layer fewer on the first and the last stage where stages are not of one size. Recomputation is
// not stated: nothing is recomputed. The tables do not say how experts are cut: in 1. Recipes of
// Mixtral drop tokens above the mean and pad buffers to the mean (NeMo's
// MegatronTokenDropCallback), so that every expert computes the same number of tokens.
std::string scenario(const Cells& row, const char* stack) {
  const std::uint32_t stages = count_of(row, "pp") * count_of(row, "vp");
  std::string more;
  const std::string experts = count_of(row, "ep") > 1 ? ", experts: {routing: forced}" : "";
  if (count_of(row, "pp") > 1 && count_of(row, "vp") == 1) more += "p2p: blocking\n";
  if (layers_of(row) % stages != 0) more += "partition: ends_less\n";
  return scenario_of(row, {.stack = stack,
                           .training = ", bytes: {gradients: 2}" + experts,
                           .communication = "gradient_bytes: 2, tp_comm_overlap: true",
                           .more = more,
                           .sequence_parallel = true});
}

std::string hindrance(const Cells& row) {
  if (row.at("set") == "nemo_2407_sft") return "of documents whose lengths are not told";
  if (row.at("set") == "nemo_2507_gb200_second") return "whose precision is not told";
  return "";
}

Table blackwell(const std::filesystem::path& reference, const char* gpu, const char* releases) {
  return published_table(
      {.title = fmt::format("NeMo {} (performance_summary), 8B to 405B on 8 to 256 {}, fp8, "
                            "nemo-2: iterations",
                            releases, gpu),
       .file = reference / "2026b" / "nemo_25xx_blackwell_fp8.csv",
       .selects = [=](const Cells& row) { return row.at("gpu_type").starts_with(gpu); },
       .hindrance = hindrance,
       .scenario = [](const Cells& row) { return scenario(row, "nemo-2"); }});
}

}  // namespace

// github.com/NVIDIA/NeMo, docs/source/performance/performance_summary.md, three revisions of one
// table, and the long sequences of 24.03.01. fp8 has delayed scales. Assumed: cuDNN of that time.
Table nemo_2407(const std::filesystem::path& reference) {
  return published_table(
      {.title = "NeMo 24.07 (performance_summary), 5B to 175B on 8 to 512 H100, fp8, nemo-2 with "
                "cuDNN 9.2: iterations",
       .file = reference / "2026b" / "nemo_2407_h100_fp8.csv",
       .hindrance = hindrance,
       .scenario =
           [](const Cells& row) { return scenario(row, "{like: nemo-2, attention: cudnn-9-2}"); },
       .is_fitted = true});  // attention.cudnn-9-2 of the H100
}

// docs.nvidia.com, NeMo Framework user guide, performance summaries of 25.02, 25.04 and 25.07. fp8
// has scales of the current step.
std::vector<Table> nemo_blackwell(const std::filesystem::path& reference) {
  return {blackwell(reference, "B200", "25.02"), blackwell(reference, "GB200", "25.04, 25.07")};
}

}  // namespace pipewright::accuracy
