#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

std::string nanotron_scenario(const Cells& row) {
  return scenario_of(row, {.stack = "nanotron", .node = "p5-efa", .sequence_parallel = true});
}

Source nanotron_source(const std::filesystem::path& reference, const std::string& title,
                       const std::string& set) {
  return {
      .title = title,
      .file = reference / "2026b" / "nanotron_h100.csv",
      .selects = [set](const Cells& row) { return row.at("set") == set; },
      .scenario = nanotron_scenario,
      .remark = [](const Cells& row) { return row.at("sharding"); },
  };
}

// Of the first device: rank 0 writes the results (log_throughput of nanotron/helpers.py).
double first_reserved_gib(const Run& run) {
  const std::uint64_t peak = run.summary.devices.front().peak_memory_bytes;
  return static_cast<double>(peak - run.outside_allocator) / (1U << 30U);
}

}  // namespace

// github.com/huggingface/nanotron, docs/benchmark_summary.svg: the best layout of a sweep for each
// model and number of nodes. Steps follow from printed MFUs.
// Assumed: the cluster of Hugging Face's playbook, AWS p5. Tensor parallelism alone runs one
// microbatch a step. Rank 0 logs allocated and reserved memory; the plot does not tell which it
// shows, and reserved is assumed.
std::vector<Table> nanotron(const std::filesystem::path& reference) {
  const std::string best = "nanotron, Llama-like 1.3B to 80B on 8 to 512 H100: ";
  Source memory = nanotron_source(reference, best + "peak memory", "nanotron_best");
  memory.peak_memory = first_reserved_gib;
  Source times = nanotron_source(reference, best + "iterations", "nanotron_best");
  times.is_fitted = true;  // host.iteration of the stack nanotron
  return {published_table(times),
          published_table(nanotron_source(
              reference, "nanotron, 3.6B with tp 2, 8 and 32 on H100: iterations", "nanotron_tp")),
          published_table(memory)};
}

}  // namespace pipewright::accuracy
