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

// Products of these runs are in TF32, as NVIDIA's container has it: at the data sheet's rate. The
// rest is platforms/gpus/gh200.yaml, whose efficiencies are the H100's in bf16.
constexpr const char* gpu =
    "{name: gh200-tf32, source: platforms/gpus/gh200.yaml, flops: 494.7 TFLOP/s, memory: 96 GiB, "
    "memory_bandwidth: 2000 GB/s, memory_efficiency: 0.8, processors: 132, "
    "products: {bf16: {efficiency: 0.836, wave: 0.69 us}}, "
    "attention: {cudnn: {forward: 0.62, backward: 0.56, half_length: 1800}}, "
    "kernel_overhead: 3 us, clock: {products: 0.79, attention: 0.79}}";

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

// What the run is on: a cluster, and where all GPUs are alike what they are.
std::string hardware_of(const CsvRow& row, std::uint32_t gpus) {
  if (is_mixed(row)) return fmt::format("cluster: {}\n", mixed_cluster(row.at("stages")));
  return fmt::format("cluster: {}\ngpu: {}\nsymmetric: true\n",
                     cluster_of("gh200-slingshot", gpus / 4, rate_of_32_bits), gpu);
}

Row row_of(const CsvRow& row) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint32_t>(std::stoul(row.at(name)));
  };
  const std::uint32_t tp = number("tp");
  const std::uint32_t gpus = number("pp") * number("dp") * tp;
  std::string scenario = fmt::format(
      "model: {}\n{}global_batch: {}\n"
      "parallel: {{tp: {}, pp: {}, dp: {}, sp: false, zero: 0}}\nschedule: 1f1b\np2p: blocking\n"
      "communication: {{overlap_grad_reduce: false, gradient_bytes: 2}}\n"
      "stack: megatron-lm-2022\ntraining: {{microbatch_size: {}}}\n",
      shape_of(row.at("model"), tp), hardware_of(row, gpus), number("global_batch"), tp,
      number("pp"), number("dp"), number("micro_batch"));
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

// github.com/eth-easl/sailor (SOSP '25), Planner/simulations/validation: Megatron-DeepSpeed without
// sequence parallelism, ZeRO or fused attention, nothing overlapped.
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
  for (const CsvRow& row : tests::read_csv(file))
    (is_mixed(row) ? mixed : alike).rows.push_back(row_of(row));
  return {alike, mixed};
}

}  // namespace pipewright::accuracy
