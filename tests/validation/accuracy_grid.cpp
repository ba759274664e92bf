#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// Qi et al. 2024 (Pipeline Parallelism with Controllable Memory, arXiv 2405.15362), table 3: the
// best MFU of each schedule over a grid of layouts and microbatches.
struct Published {
  const char* schedule;
  const char* recompute;
  double mfu;  // %
};
constexpr std::array<Published, 6> published{{{"1f1b", "none", 49.8},
                                              {"1f1b", "full", 37.2},
                                              {"zb-1p", "none", 54.5},
                                              {"v-half", "none", 52.6},
                                              {"v-min", "none", 48.0},
                                              {"v-zb", "none", 57.6}}};

std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no process can be had");
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), count);
  if (::pclose(pipe) != 0) throw std::runtime_error(command + ": failed");
  return text;
}

// With attention's whole square of scores, as the authors' Megatron-LM of 2024 counts.
double best_mfu(const nlohmann::json& run, const Published& of) {
  double best = 0;
  for (const auto& row : run.at("candidates"))
    if (row.at("outcome") == "simulated" && row.at("values").at("schedule") == of.schedule &&
        row.at("values").at("training.recompute") == of.recompute)
      best = std::max(best, 100 * row.at("mfu_full_attention").get<double>());
  return best;
}

}  // namespace

Table grid_search() {
  Table table{.title =
                  "Controllable Memory (arXiv 2405.15362, table 3): the best MFU of each "
                  "schedule over a grid of\nlayouts and microbatches, 98.5B on 40 GPUs",
              .unit = "%"};
  const auto run = nlohmann::json::parse(
      output_of(PIPEWRIGHT_PROGRAM " search " PIPEWRIGHT_ROOT
                                   "/platforms/sweeps/controllable-memory-98.5b.yaml "
                                   "--exhaustive --json --quiet"));
  for (const Published& row : published)
    table.rows.push_back({.name = row.recompute == std::string_view("full")
                                      ? fmt::format("{}, full recomputation", row.schedule)
                                      : row.schedule,
                          .measured = row.mfu,
                          .predicted = best_mfu(run, row)});
  return table;
}

}  // namespace pipewright::accuracy
