#include <fmt/format.h>

#include "support/reference.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_layout.hpp"

namespace pipewright::accuracy {

// github.com/MooreThreads/SimuMax, docs/b200: Megatron-LM on one node of 8 B200, 12 layers of
// Llama 3 70B, nothing recomputed, no communication overlapped, a fused cross entropy.
std::vector<Table> simumax(const std::filesystem::path& reference) {
  const std::string source = "SimuMax, 8 B200, 12 layers of 70B, bf16 (its docs/b200): ";
  Table times{.title = source + "iterations", .unit = "s", .bars = {.mean = 6, .bias = 4}};
  Table memory{.title = source + "peak memory", .unit = "GiB", .bars = {.mean = 4, .each = 10}};
  const auto file = reference / "2026" / "simumax_b200_measured.csv";
  if (!std::filesystem::exists(file)) {
    times.skipped = memory.skipped = file.string() + ": no such file";
    return {times, memory};
  }
  for (auto& row : tests::read_csv(file)) {
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(std::stoul(row.at(name)));
    };
    const Layout layout{.model = "llama-3-70b",
                        .node = "dgx-b200",
                        .tp = number("tp"),
                        .cp = number("cp"),
                        .pp = number("pp"),
                        .dp = number("dp"),
                        .microbatch = number("micro_batch"),
                        .microbatches = number("microbatches"),
                        .sequence = number("sequence"),
                        .communication = "overlap_grad_reduce: false, overlap_param_gather: false"};
    Row made{
        .name = fmt::format("tp {} cp {} pp {} dp {}, {} microbatches of {} tokens", layout.tp,
                            layout.cp, layout.pp, layout.dp, layout.microbatches, layout.sequence),
        .scenario = scenario_of(layout),
        .predict = makespan,
        .measured = std::stod(row.at("iteration_ms")) / 1e3,
        // The B200's clock, of products and of attention.
        .is_fitted = layout.microbatches == 8 || layout.sequence == 131072,
        .settings = {"model.layers=" + row.at("layers")}};
    times.rows.push_back(made);
    made.predict = peak_gib;
    made.is_fitted = false;
    made.measured = std::stod(row.at("peak_alloc_GiB"));
    memory.rows.push_back(made);
  }
  return {times, memory};
}

}  // namespace pipewright::accuracy
