#include <fmt/format.h>

#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

constexpr const char* commits = "torchtitan_commits.csv";

bool is_eager(const Cells& row) { return has(row, "flags", "eager"); }

// PyTorch's checkpoint stops early by default. torchtitan tells it not to since 2025-08-29, which
// is what its stacks say.
std::string stack_of(const std::string& stack, bool stops_early) {
  return stops_early ? fmt::format("{{like: {}, recompute: {{early_stop: true}}}}", stack) : stack;
}

std::string commit_scenario(const Cells& row) {
  // The 8B's commits are of February 2025, the others of 2025-12 and 2026-05. torchtitan compiles
  // the loss since 2025-04-02 (commits e8977b007, bbb1b616e).
  const bool is_early = row.at("set") == "torchtitan_h100_8b";
  Details details{.stack = stack_of(is_eager(row) ? "torchtitan-eager" : "torchtitan", is_early),
                  .training = is_early ? ", fused_loss: false" : ""};
  if (has(row, "sharding", "never"))
    details.parallel = parallel_of(row) + ", reshard_after_forward: false";
  if (has(row, "flags", "float8 all-gather")) details.training += ", bytes: {gathered: 1}";
  if (count_of(row, "ep") > 1) {
    details.training =
        fmt::format(", experts: {{routing: forced, dispatcher: {}, round_robin: {}}}",
                    row.at("dispatcher") == "deepep" ? "deepep" : "alltoall",
                    has(row, "flags", "balanced by force"));
    // The embedding and the head count as a layer each (generate_llm_fqn_per_model_part).
    details.more = "partition: 'Et*3|(t*4|)*14ttL'\n";
  }
  return scenario_of(row, details);
}

std::string commit_hindrance(const Cells& row) {
  return has(row, "flags", "memory on") ? "of collectives in symmetric memory" : "";
}

std::string commit_remark(const Cells& row) {
  std::string remark = is_eager(row) ? "eager" : "compiled";
  if (count_of(row, "ep") > 1) remark += ", " + row.at("dispatcher");
  if (has(row, "flags", "float8")) remark += ", fp8";
  for (const char* const reshard : {"always", "never"})
    if (has(row, "sharding", reshard)) remark += fmt::format(", reshard {}", reshard);
  return remark;
}

Source commit_source(const std::filesystem::path& reference, const std::string& title,
                     const std::string& set) {
  return {
      .title = title,
      .file = reference / "2026b" / commits,
      .selects = [set](const Cells& row) { return row.at("set") == set; },
      .hindrance = commit_hindrance,
      .scenario = commit_scenario,
      .remark = commit_remark,
  };
}

// Iterations and, in a table of its own, the memory that PyTorch reserved.
void add_tables(Source source, std::vector<Table>& tables) {
  const std::string title = source.title;
  source.title += ": iterations";
  tables.push_back(published_table(source));
  source.title = title + ": peak memory";
  source.peak_memory = reserved_gib;
  if (Table memory = published_table(source); !memory.rows.empty())
    tables.push_back(std::move(memory));
}

// docs/performance.md of April 2024.
// Assumed: nothing is compiled, as in the configurations of that commit; each A100 has a NIC of
// 200 Gb/s.
Table a100_table(const std::filesystem::path& reference) {
  return published_table({
      .title = "torchtitan of 2024, FSDP2, Llama 8B to 70B on 64 A100: iterations",
      .file = reference / "2026b" / "fsdp_dense_a100_h100.csv",
      .scenario =
          [](const Cells& row) {
            return scenario_of(row, {.stack = stack_of("torchtitan-eager", true)});
          },
  });
}

}  // namespace

// github.com/pytorch/torchtitan, its documentation and messages of commits. Qwen3's and
// DeepSeek-V3's batch, sequence and recomputation are the configurations' defaults.
// Assumed: the network of the 512 H100 has a NIC of 400 Gb/s for each; two chunks a rank, which is
// the schedule's default.
std::vector<Table> torchtitan_runs(const std::filesystem::path& reference) {
  std::vector<Table> tables{a100_table(reference)};
  add_tables(
      commit_source(reference, "torchtitan, FSDP2 with pp 8 and ep 32, DeepSeek-V3 on 512 H100",
                    "torchtitan_dsv3_h100"),
      tables);
  add_tables(commit_source(reference, "torchtitan, FSDP2, Qwen3 32B on 4 GB200, compiled and eager",
                           "torchtitan_gb200"),
             tables);
  add_tables(
      commit_source(reference, "torchtitan, FSDP2, 8B on 8 H100 of 500 W, compiled and eager",
                    "torchtitan_h100_8b"),
      tables);
  return tables;
}

}  // namespace pipewright::accuracy
