#include "validation/accuracy_sailor.hpp"

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// training_config_*.json of the source.
struct Shape {
  const char* name;
  const char* text;
};
constexpr Shape models[]{{"OPT-350M",
                          "name: opt-350m, layers: 24, hidden: 1024, heads: 16, "
                          "sequence: 2048, positions: learned, tied_embeddings: true"},
                         {"GPT-Neo-2.7B",
                          "name: gpt-neo-2.7b, layers: 32, hidden: 2560, heads: 32, "
                          "sequence: 2048, positions: learned, tied_embeddings: true"}};

// The vocabulary is that of the tokenizer that the source's scripts name, padded to 128 for each
// rank of tp, as Megatron-LM does.
std::string shape_of(const std::string& model, std::uint32_t tp) {
  constexpr std::uint32_t tokens = 50257;
  const std::uint32_t multiple = 128 * tp;
  const std::uint32_t vocabulary = (tokens + multiple - 1) / multiple * multiple;
  for (const Shape& one : models)
    if (model == one.name) return fmt::format("{{{}, vocabulary: {}}}", one.text, vocabulary);
  throw std::runtime_error("no model " + model);
}

// "7-9-9-9": layers of each stage, the first with the embedding and the last with the head.
std::vector<int> layers_of(const std::string& text) {
  std::vector<int> layers;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, '-');) layers.push_back(std::stoi(one));
  --layers.front();
  --layers.back();
  return layers;
}

using CsvRow = std::map<std::string, std::string>;

bool is_mixed(const CsvRow& row) { return row.at("heterogeneous") == "True"; }

// The cluster of a run, and whether its replicas are alike.
std::string hardware_of(const CsvRow& row, std::uint32_t gpus) {
  if (is_mixed(row)) return fmt::format("cluster: {}\n", mixed_cluster(row.at("stages")));
  return fmt::format("cluster: {}\nsymmetric: true\n", cluster_of("gh200-slingshot", gpus / 4));
}

// Products of fp32 numbers are in TF32, as NVIDIA's container has it. The mixed cards compute in
// fp32: Turing has no TF32, and the RTX 3090 has the same rate in both.
const char* precision_of(const CsvRow& row) { return is_mixed(row) ? "fp32" : "tf32"; }

// The layers are Hugging Face's OPT modules in eager mode on DeepSpeed's pipeline engine
// (sailor/models/opt/opt_modules.py of the source).
constexpr const char* stack = "{like: deepspeed, attention: [unfused]}";

Row row_of(const CsvRow& row) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint32_t>(std::stoul(row.at(name)));
  };
  const std::uint32_t tp = number("tp");
  const std::uint32_t gpus = number("pp") * number("dp") * tp;
  std::string scenario = fmt::format(
      "model: {}\n{}global_batch: {}\n"
      "parallel: {{tp: {}, pp: {}, dp: {}, sp: false, zero: 0}}\nschedule: 1f1b\np2p: blocking\n"
      "communication: {{overlap_grad_reduce: false}}\n"
      "stack: {}\ntraining: {{microbatch_size: {}, precision: {}}}\n",
      shape_of(row.at("model"), tp), hardware_of(row, gpus), number("global_batch"), tp,
      number("pp"), number("dp"), stack, number("micro_batch"), precision_of(row));
  if (const std::vector<int> layers = layers_of(row.at("layers_per_stage")); layers.size() > 1)
    scenario += fmt::format("partition: [{}]\n", fmt::join(layers, ", "));
  const std::string on = is_mixed(row) ? fmt::format(" on {}", row.at("gpu_kinds")) : "";
  return {.name = fmt::format("{}, tp {} pp {} ({}) dp {}, {} of {}{}", row.at("model"), tp,
                              row.at("pp"), row.at("layers_per_stage"), row.at("dp"),
                              row.at("global_batch"), row.at("micro_batch"), on),
          .scenario = scenario,
          .predict = makespan,
          .measured = std::stod(row.at("measured_iteration_s"))};
}

}  // namespace

// github.com/eth-easl/sailor (SOSP '25), Planner/simulations/validation: DeepSpeed without sequence
// parallelism, ZeRO or fused attention, nothing overlapped.
std::vector<Table> sailor(const std::filesystem::path& reference) {
  Table alike{.title =
                  "Sailor, uneven stages on 4 to 256 GH200, TF32 (github.com/eth-easl/sailor): "
                  "iterations",
              .unit = "s"};
  Table mixed{.title =
                  "Sailor, RTX 3090, RTX 2080 Ti and Titan RTX mixed, 32 bits "
                  "(github.com/eth-easl/sailor): iterations",
              .unit = "s"};
  const auto file = reference / "2026" / "sailor_validation_hetero.csv";
  if (!std::filesystem::exists(file)) {
    alike.skipped = mixed.skipped = file.string() + ": no such file";
    return {alike, mixed};
  }
  Table memory{.title = "Sailor, uneven stages on 4 to 256 GH200 and mixed GPUs: peak memory",
               .unit = "GiB"};
  for (const CsvRow& row : tests::read_csv(file)) {
    Row run = row_of(row);
    (is_mixed(row) ? mixed : alike).rows.push_back(run);
    run.predict = peak_gib;
    run.measured = std::stod(row.at("measured_max_mem_bytes")) / (1U << 30U);
    memory.rows.push_back(run);
  }
  return {alike, mixed, memory};
}

}  // namespace pipewright::accuracy
