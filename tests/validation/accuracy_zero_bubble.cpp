#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "validation/accuracy.hpp"
#include "validation/zero_bubble_rows.hpp"

namespace pipewright::accuracy {
namespace {

// Qi et al. 2024 (Zero Bubble Pipeline Parallelism, arXiv 2401.10241), table 4: samples a second
// and GPU with three numbers of microbatches, and the peak of memory, the same with all three.
struct Published {
  const char* schedule;
  const char* model;
  std::array<double, 3> samples;
  double gib;
};
constexpr std::array<Published, 16> published{{
    {"zb-2p", "1.5B", {14.5, 14.8, 14.9}, 59},
    {"zb-2p", "6.2B", {4.32, 4.35, 4.39}, 70},
    {"zb-2p", "14.6B", {1.81, 1.83, 1.85}, 51},
    {"zb-2p", "28.3B", {0.99, 1.00, 1.00}, 74},
    {"zb-1p", "1.5B", {12.9, 13.4, 14.2}, 32},
    {"zb-1p", "6.2B", {3.88, 4.00, 4.20}, 42},
    {"zb-1p", "14.6B", {1.61, 1.67, 1.76}, 33},
    {"zb-1p", "28.3B", {0.87, 0.90, 0.96}, 44},
    {"1f1b", "1.5B", {11.8, 12.5, 13.6}, 30},
    {"1f1b", "6.2B", {3.50, 3.70, 4.03}, 39},
    {"1f1b", "14.6B", {1.40, 1.49, 1.64}, 32},
    {"1f1b", "28.3B", {0.76, 0.80, 0.88}, 43},
    {"interleaved-1f1b", "1.5B", {13.1, 13.4, 13.9}, 40},
    {"interleaved-1f1b", "6.2B", {4.01, 4.08, 4.19}, 48},
    {"interleaved-1f1b", "14.6B", {1.54, 1.59, 1.66}, 39},
    {"interleaved-1f1b", "28.3B", {0.82, 0.85, 0.90}, 58},
}};

// Table 3.
struct Model {
  std::string_view name;
  std::uint32_t devices, layers_of_device, microbatch;
  std::array<std::uint32_t, 3> microbatches;
};
constexpr std::array<Model, 4> models{{
    {"1.5B", 8, 3, 6, {24, 32, 64}},
    {"6.2B", 8, 4, 3, {24, 32, 64}},
    {"14.6B", 16, 3, 1, {48, 64, 128}},
    {"28.3B", 32, 2, 1, {96, 128, 256}},
}};

const Model& model_of(std::string_view name) {
  return *std::ranges::find(models, name, &Model::name);
}

// Four nodes on RoCE, whose rate is not published: HDR200's is an assumption. 1F1B-I has one layer
// a chunk, the most that there can be. Megatron-LM, whose are the 1F1Bs, waits for its sends. The
// authors' script (sail-sg/zero-bubble-pipeline-parallelism, examples/pretrain_zero_bubble.sh) does
// not turn off that products of W accumulate the gradients.
std::string scenario(const Model& model, std::string_view schedule, std::uint32_t microbatches) {
  const bool zero_bubble = schedule.starts_with("zb");
  std::string lower(model.name);
  lower.back() = 'b';
  return fmt::format(
      "model: zero-bubble-{}\n"
      "cluster: dgx-a100\n"
      "devices: {}\n"
      "microbatches: {}\n"
      "schedule: {}\n"
      "partition: ends_less\n"
      "p2p: {}\n"
      "stack: megatron-lm-2022\n"
      "training: {{microbatch_size: {}, fused_accumulation: true}}\n",
      lower, model.devices, microbatches,
      schedule == "interleaved-1f1b"
          ? fmt::format("{{name: {}, chunks: {}}}", schedule, model.layers_of_device)
          : std::string(schedule),
      zero_bubble ? "eager" : "blocking", model.microbatch);
}

double pass_ms(const Run& run, schedules::PassKind kind) {
  return 1e3 * (run.costs.times.of_stage[static_cast<std::size_t>(kind)][1] - run.host_pass);
}

template <class Make>
void each_row(Table& table, Make make) {
  for (const Published& row : published) {
    const Model& model = model_of(row.model);
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
      const std::uint32_t microbatches = model.microbatches[i];
      Row made = make(row, model, i);
      made.name = fmt::format("{}, {}, {} microbatches", row.model, row.schedule, microbatches);
      made.scenario = scenario(model, row.schedule, microbatches);
      table.rows.push_back(std::move(made));
    }
  }
}

// From the times of table 9, which hold kernels: what lies between passes is the one number that
// was fitted, to the 1F1B rows with 64 microbatches or more.
std::string measured_scenario(const tests::ZeroBubbleRow& row, std::string_view schedule) {
  const bool zero_bubble = schedule.starts_with("zb");
  return fmt::format(
      "devices: {}\n"
      "microbatches: {}\n"
      "schedule: {}\n"
      "forward_times: {} ms\n"
      "{}\n"
      "pass_overhead: 1.2 ms\n"
      "p2p_time: {} ms\n"
      "p2p: {}\n"
      "activation: {{per_microbatch: 1 GiB, released_by_input_grad: {:.4f} %}}\n",
      row.devices, row.microbatches, schedule, row.forward,
      zero_bubble ? fmt::format("input_grad_times: {} ms\nweight_grad_times: {} ms", row.input_grad,
                                row.weight_grad)
                  : fmt::format("backward_times: {} ms", row.input_grad + row.weight_grad),
      row.hop, zero_bubble ? "eager" : "blocking", 100 * tests::input_grad_releases(row.model));
}

}  // namespace

Table zero_bubble_measured() {
  Table table{.title =
                  "Zero Bubble (arXiv 2401.10241, table 4), of measured passes (table 9): "
                  "throughput of a GPU",
              .unit = "samples/s",
              .bars = {.mean = 4}};
  for (const tests::ZeroBubbleRow& times : tests::zero_bubble_rows)
    for (const Published& row : published) {
      const Model& model = model_of(row.model);
      const std::string_view schedule = row.schedule;
      if (row.model != std::string_view(times.model) || schedule == "interleaved-1f1b") continue;
      const auto place = std::ranges::find(model.microbatches, times.microbatches);
      const double samples = 1.0 * times.microbatches * model.microbatch / model.devices;
      table.rows.push_back(
          {fmt::format("{}, {}, {} microbatches", times.model, schedule, times.microbatches),
           measured_scenario(times, schedule),
           [samples](const Run& run) { return samples / makespan(run); },
           row.samples[static_cast<std::size_t>(place - model.microbatches.begin())],
           schedule == "1f1b" && times.microbatches >= 64 && times.microbatches != 96});
    }
  return table;
}

Table zero_bubble_throughput() {
  Table table{.title = "Zero Bubble (arXiv 2401.10241, table 4): throughput of a GPU",
              .unit = "samples/s",
              .bars = {.mean = 6}};
  each_row(table, [](const Published& row, const Model& model, std::size_t i) {
    const std::uint32_t microbatches = model.microbatches[i];
    const double samples = 1.0 * microbatches * model.microbatch / model.devices;
    const bool is_fitted =
        row.schedule == std::string_view("1f1b") && microbatches >= 64 && microbatches != 96;
    return Row{.predict = [samples](const Run& run) { return samples / makespan(run); },
               .measured = row.samples[i],
               .is_fitted = is_fitted};
  });
  return table;
}

Table zero_bubble_memory() {
  Table table{.title = "Zero Bubble (arXiv 2401.10241, table 4, read as GiB): peak memory",
              .unit = "GiB",
              .bars = {.each = 6}};
  each_row(table, [](const Published& row, const Model&, std::size_t) {
    return Row{.predict = peak_gib, .measured = row.gib};
  });
  return table;
}

Table zero_bubble_passes() {
  Table table{.title =
                  "Zero Bubble (arXiv 2401.10241, table 9): passes of the second stage, without "
                  "the overhead of a\n"
                  "pass, which profiles of a pass alone do not show",
              .unit = "ms"};
  std::string_view last;
  for (const tests::ZeroBubbleRow& row : tests::zero_bubble_rows) {
    using schedules::PassKind;
    for (const auto& [name, kind, measured] : {std::tuple{"F", PassKind::forward, row.forward},
                                               {"I", PassKind::input_grad, row.input_grad},
                                               {"W", PassKind::weight_grad, row.weight_grad}})
      table.rows.push_back(
          {fmt::format("{}, {} microbatches, {}", row.model, row.microbatches, name),
           scenario(model_of(row.model), "zb-1p", row.microbatches),
           [kind = kind](const Run& run) { return pass_ms(run, kind); }, measured,
           row.model != last});
    last = row.model;
  }
  return table;
}

}  // namespace pipewright::accuracy
