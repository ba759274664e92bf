#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

constexpr const char* file_name = "vocabulary_1f1b_stage_times.csv";

// "10572 10591" as "10572 us, 10591 us".
std::string times(const std::string& microseconds) {
  std::istringstream words(microseconds);
  std::vector<std::string> list;
  for (std::string word; words >> word;) list.push_back(word + " us");
  return fmt::format("{}", fmt::join(list, ", "));
}

using Record = std::map<std::string, std::string>;

double number(const Record& row, const char* name) { return std::stod(row.at(name)); }

// As the authors' program counts FLOP.
double iteration_seconds(const Record& row) {
  const double s = number(row, "seq");
  const double h = number(row, "hidden");
  const double flop =
      3 * number(row, "num_microbatches") * number(row, "microbatch") *
      (2 * s * h * number(row, "vocab") +
       number(row, "layers") * (8 * s * h * h + 4 * s * s * h + 4 * s * h * number(row, "ffn")));
  return flop / (1e12 * number(row, "achieved_TFLOPs_per_gpu") * number(row, "pp"));
}

// Layers of each stage, of which the shortest has four; the last one's time has the output layer's.
std::vector<std::uint32_t> layers_of(const Record& row) {
  std::istringstream words(row.at("stage_F_us"));
  std::vector<double> forward;
  for (double time = 0; words >> time;) forward.push_back(time);
  forward.pop_back();
  const double layer = *std::ranges::min_element(forward) / 4;
  std::vector<std::uint32_t> layers;
  for (const double time : forward)
    layers.push_back(static_cast<std::uint32_t>(std::lround(time / layer)));
  layers.push_back(static_cast<std::uint32_t>(number(row, "layers_last_stage")));
  return layers;
}

}  // namespace

// Of github.com/sail-sg/VocabularyParallelism (arXiv 2411.05288): uneven stages on 8 A100s of one
// node, from the times that the very run's stages took.
Table vocabulary_iterations(const std::filesystem::path& reference) {
  Table table{
      .title = "Vocabulary Parallelism (arXiv 2411.05288), 1F1B of measured passes: iterations",
      .unit = "s",
      .bars = {.each = 2}};
  const auto file = reference / file_name;
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  for (auto& row : tests::read_csv(file)) {
    const std::string scenario = fmt::format(
        "cluster: dgx-a100\ndevices: {}\nmicrobatches: {}\nschedule: 1f1b\np2p: blocking\n"
        "forward_times: [{}]\nbackward_times: [{}]\nboundary_tensor: {}B\n",
        number(row, "pp"), number(row, "num_microbatches"), times(row.at("stage_F_us")),
        times(row.at("stage_B_us")),
        2 * number(row, "microbatch") * number(row, "seq") * number(row, "hidden"));
    table.rows.push_back({row.at("name"), scenario, makespan, iteration_seconds(row)});
  }
  return table;
}

// The same runs from their sizes, layers dealt out evenly or by the time of the output layer: fp16,
// gradients too, and a loss in fp32 that is not fused (its pretrain_gpt.sh and
// megatron/core/tensor_parallel/cross_entropy.py). Its Megatron-LM is later than the stack's: flash
// attention is on, and products of W accumulate the gradients.
std::vector<Table> vocabulary_models(const std::filesystem::path& reference) {
  std::vector<Table> tables{
      {.title = "Vocabulary Parallelism (arXiv 2411.05288), from the model: iterations",
       .unit = "s",
       .bars = {.each = 15}},
      {.title = "Vocabulary Parallelism (arXiv 2411.05288), from the model: greatest peak memory",
       .unit = "GiB",
       .bars = {.each = 5}}};
  const auto file = reference / file_name;
  if (!std::filesystem::exists(file)) {
    for (Table& table : tables) table.skipped = file.string() + ": no such file";
    return tables;
  }
  for (auto& row : tests::read_csv(file)) {
    const std::string scenario = fmt::format(
        "cluster: dgx-a100\nmodel: {{layers: {}, hidden: {}, heads: {}, ffn: {}, vocabulary: {}, "
        "sequence: {}, positions: learned, tied_embeddings: false, dropout: 0}}\n"
        "parallel: {{pp: {}}}\nmicrobatches: {}\nschedule: 1f1b\np2p: blocking\n"
        "partition: [{}]\n"
        "stack: megatron-lm-2022\n"
        "training: {{microbatch_size: {}, precision: fp16, flash_attention: true, "
        "fused_accumulation: true, bytes: {{gradients: 2}}}}\n",
        row.at("layers"), row.at("hidden"), row.at("heads"), row.at("ffn"), row.at("vocab"),
        row.at("seq"), row.at("pp"), row.at("num_microbatches"), fmt::join(layers_of(row), ", "),
        row.at("microbatch"));
    tables[0].rows.push_back({row.at("name"), scenario, makespan, iteration_seconds(row)});
    tables[1].rows.push_back(
        {row.at("name"), scenario, peak_gib, number(row, "max_device_peak_MB") * 1e6 / 0x1p+30});
  }
  return tables;
}

}  // namespace pipewright::accuracy
