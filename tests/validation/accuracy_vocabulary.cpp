#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// "10572 10591" as "10572 us, 10591 us".
std::string times(const std::string& microseconds) {
  std::istringstream words(microseconds);
  std::vector<std::string> list;
  for (std::string word; words >> word;) list.push_back(word + " us");
  return fmt::format("{}", fmt::join(list, ", "));
}

}  // namespace

// Of github.com/sail-sg/VocabularyParallelism (arXiv 2411.05288): uneven stages on 8 A100s of one
// node, from the times that the very run's stages took.
Table vocabulary_iterations(const std::filesystem::path& reference) {
  Table table{
      .title = "Vocabulary Parallelism (arXiv 2411.05288), 1F1B of measured passes: iterations",
      .unit = "s",
      .bars = {.each = 2}};
  const auto file = reference / "vocabulary_1f1b_stage_times.csv";
  if (!std::filesystem::exists(file)) {
    table.skipped = file.string() + ": no such file";
    return table;
  }
  for (auto& row : tests::read_csv(file)) {
    const auto number = [&](const char* name) { return std::stod(row.at(name)); };
    const double b = number("microbatch");
    const double m = number("num_microbatches");
    const double s = number("seq");
    const double h = number("hidden");
    const double p = number("pp");
    const std::string scenario = fmt::format(
        "cluster: dgx-a100\ndevices: {}\nmicrobatches: {}\nschedule: 1f1b\np2p: blocking\n"
        "forward_times: [{}]\nbackward_times: [{}]\nboundary_tensor: {}B\n",
        p, m, times(row.at("stage_F_us")), times(row.at("stage_B_us")), 2 * b * s * h);
    // As the authors' program counts FLOP.
    const double flop =
        3 * m * b *
        (2 * s * h * number("vocab") +
         number("layers") * (8 * s * h * h + 4 * s * s * h + 4 * s * h * number("ffn")));
    table.rows.push_back({row.at("name"), scenario, makespan,
                          flop / (1e12 * number("achieved_TFLOPs_per_gpu") * p)});
  }
  return table;
}

}  // namespace pipewright::accuracy
