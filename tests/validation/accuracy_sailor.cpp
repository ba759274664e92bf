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

// training_config_*.json of the source; the vocabulary is that of the tokenizer that its scripts
// name, padded to 128 for each of 4 ranks.
struct Shape {
  const char* name;
  const char* text;
};
constexpr Shape models[]{
    {"OPT-350M",
     "{name: opt-350m, layers: 24, hidden: 1024, heads: 16, vocabulary: 50688, "
     "sequence: 2048, positions: learned, tied_embeddings: true}"},
    {"GPT-Neo-2.7B",
     "{name: gpt-neo-2.7b, layers: 32, hidden: 2560, heads: 32, vocabulary: 50688, "
     "sequence: 2048, positions: learned, tied_embeddings: true}"}};

// These runs are in 32 bits, with products in TF32, as NVIDIA's container has it. Here values have
// 16 bits: those of 32 are as many on links and memory of half the rate (0.5 below), and products
// are those of the data sheet's TF32. The rest is platforms/gpus/gh200.yaml, whose efficiencies are
// the H100's in bf16.
constexpr const char* gpu =
    "{name: gh200-tf32, source: platforms/gpus/gh200.yaml, flops: 494.7 TFLOP/s, memory: 96 GiB, "
    "memory_bandwidth: 2000 GB/s, memory_efficiency: 0.8, processors: 132, "
    "products: {bf16: {efficiency: 0.836, wave: 0.69 us}}, "
    "attention: {forward: 0.62, backward: 0.56, half_length: 1800}, kernel_overhead: 3 us, "
    "clock: {products: 0.79, attention: 0.79}, launch: 125 us, pass_overhead: 0.5 ms}";
constexpr double rate_of_32_bits = 0.5;

std::string shape_of(const std::string& model) {
  for (const Shape& one : models)
    if (model == one.name) return one.text;
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

}  // namespace

// github.com/eth-easl/sailor (SOSP '25), Planner/simulations/validation: Megatron-DeepSpeed without
// sequence parallelism, ZeRO or fused attention, nothing overlapped.
Table sailor(const std::filesystem::path& reference) {
  Table table{.title =
                  "Sailor, uneven stages on 4 to 256 GH200, TF32 (github.com/eth-easl/sailor): "
                  "iterations",
              .unit = "s",
              .tells_no_band = true};
  const auto file = reference / "2026" / "sailor_validation_hetero.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  int mixed = 0;
  for (auto& row : tests::read_csv(file)) {
    if (row.at("gpu_kinds") != "GH-96") {
      ++mixed;
      continue;
    }
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(std::stoul(row.at(name)));
    };
    const std::vector<int> layers = layers_of(row.at("layers_per_stage"));
    const std::uint32_t nodes = number("pp") * number("dp") * number("tp") / 4;
    std::string scenario = fmt::format(
        "model: {}\ncluster: {}\ngpu: {}\nglobal_batch: {}\n"
        "parallel: {{tp: {}, pp: {}, dp: {}, sp: false, zero: 0}}\nschedule: 1f1b\np2p: blocking\n"
        "symmetric: true\ncommunication: {{overlap_grad_reduce: false, gradient_bytes: 2}}\n"
        "training: {{microbatch_size: {}, flash_attention: false, fused_loss: false}}\n",
        shape_of(row.at("model")), cluster_of("gh200-slingshot", nodes, rate_of_32_bits), gpu,
        number("global_batch"), number("tp"), number("pp"), number("dp"), number("micro_batch"));
    if (layers.size() > 1) scenario += fmt::format("partition: [{}]\n", fmt::join(layers, ", "));
    table.rows.push_back(
        {.name = fmt::format("{}, tp {} pp {} ({}) dp {}, {} of {}", row.at("model"), row.at("tp"),
                             row.at("pp"), row.at("layers_per_stage"), row.at("dp"),
                             row.at("global_batch"), row.at("micro_batch")),
         .scenario = scenario,
         .predict = makespan,
         .measured = std::stod(row.at("measured_iteration_s"))});
  }
  table.left_out = fmt::format(
      "{} rows on Titan RTX, RTX 2080 and 3090, whose network nobody tells: a gradient reduction "
      "of "
      "one of\n  350M parameters takes 59 s there",
      mixed);
  return table;
}

}  // namespace pipewright::accuracy
