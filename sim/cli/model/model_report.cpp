#include "sim/cli/model/model_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::cli {
namespace {

using analysis::Json;
using analysis::Quantity;
using analysis::ReportColumns;

Quantity quantity_in(double unit, int digits, const char* name) {
  return Quantity::on({unit, digits, name});
}

// Shows 0 as unknown, because not every kernel has the quantity: collectives have no time, and
// bytes are counted only for kernels that may be limited by memory bandwidth.
Quantity unknown_if_zero(Quantity quantity) {
  quantity.zero_is_unknown = true;
  return quantity;
}

// Times in microseconds, or in a larger unit if the largest time needs it.
Quantity kernel_time_quantity() {
  Quantity quantity = quantity_in(1e-6, 1, "us");
  quantity.scale = [](double largest) {
    return largest < 1 ? analysis::ColumnScale{1e-6, 1, "us"} : analysis::time_scale(largest, 4);
  };
  return quantity;
}

const ReportColumns<workload::ModelSize>& size_columns() {
  static const ReportColumns<workload::ModelSize> columns{
      {"model", {"model"}, Quantity::name(), &workload::ModelSize::name},
      {"parameters",
       {"parameters"},
       quantity_in(1e9, 2, "billion"),
       &workload::ModelSize::parameters},
      {"active_parameters",
       {"active"},
       quantity_in(1e9, 2, "billion"),
       &workload::ModelSize::active},
      {"sequence_tokens",
       {"sequence"},
       quantity_in(1, 0, "tokens"),
       &workload::ModelSize::sequence},
      {"flops_per_token",
       {"a token", "causal"},
       quantity_in(1e9, 1, "GFLOP"),
       &workload::ModelSize::flops_per_token},
      {"full_attention_flops_per_token",
       {"a token", "full"},
       quantity_in(1e9, 1, "GFLOP"),
       &workload::ModelSize::full_attention_flops_per_token}};
  return columns;
}

const ReportColumns<workload::Sizes>& layout_columns() {
  using Sizes = workload::Sizes;
  static const ReportColumns<Sizes> columns{{"tp", &Sizes::tp},
                                            {"cp", &Sizes::cp},
                                            {"ep", &Sizes::ep},
                                            {"sp", &Sizes::sequence_parallel},
                                            {"microbatch_samples", &Sizes::samples},
                                            {"sequence_tokens", &Sizes::sequence}};
  return columns;
}

const ReportColumns<workload::PartBytes>& part_columns() {
  const Quantity mebibytes = quantity_in(1 << 20, 1, "MiB");
  static const ReportColumns<workload::PartBytes> columns{
      {"part", {"part, each"}, Quantity::name(), &workload::PartBytes::part},
      {"count", {"count"}, Quantity::count(), &workload::PartBytes::count},
      {"parameters",
       {"parameters"},
       quantity_in(1e6, 1, "million"),
       &workload::PartBytes::parameters},
      {"weights_bytes", {"weights"}, mebibytes, &workload::PartBytes::weights},
      {"gradients_bytes", {"gradients"}, mebibytes, &workload::PartBytes::gradients},
      {"optimizer_bytes", {"optimizer"}, mebibytes, &workload::PartBytes::optimizer},
      {"activations_bytes", {"activations"}, mebibytes, &workload::PartBytes::activations},
      {"working_bytes", {"working"}, mebibytes, &workload::PartBytes::working}};
  return columns;
}

const ReportColumns<workload::KernelRow>& kernel_row_columns() {
  const auto rests = [](const workload::KernelRow& row) { return !row.assumed.empty(); };
  static const ReportColumns<workload::KernelRow> columns{
      {"pass", {"pass"}, Quantity::name(), &workload::KernelRow::pass},
      {"part", {"part"}, Quantity::name(), &workload::KernelRow::part},
      {"kernel", {"kernel"}, Quantity::name(), &workload::KernelRow::kernel},
      {"times", {"times"}, Quantity::count(), &workload::KernelRow::times},
      {"type", {"type"}, Quantity::name(), &workload::KernelRow::type},
      {"shape", {"shape"}, Quantity::name(), &workload::KernelRow::shape},
      {"flops", {"GFLOP"}, quantity_in(1e9, 1, ""), &workload::KernelRow::flops},
      {"bytes", {"MB"}, unknown_if_zero(quantity_in(1e6, 1, "")), &workload::KernelRow::bytes},
      analysis::marked<workload::KernelRow>({"seconds",
                                             {"time", "of one"},
                                             unknown_if_zero(kernel_time_quantity()),
                                             &workload::KernelRow::seconds},
                                            rests),
      {"bound", {"bound by"}, Quantity::name(), &workload::KernelRow::bound},
      {"assumed", &workload::KernelRow::assumed}};
  return columns;
}

const ReportColumns<workload::PassRow>& pass_columns() {
  const Quantity microseconds = kernel_time_quantity();
  const auto rests = [](const workload::PassRow& row) { return !row.assumed.empty(); };
  static const ReportColumns<workload::PassRow> columns{
      {"part", {"sums"}, Quantity::name(), &workload::PassRow::part},
      {"pass", {"pass"}, Quantity::name(), &workload::PassRow::pass},
      {"kernels", {"kernels"}, Quantity::count(), &workload::PassRow::kernels},
      {"kernel_seconds", {"kernel", "time"}, microseconds, &workload::PassRow::kernel_seconds},
      {"host_seconds", {"launch", "time"}, microseconds, &workload::PassRow::host_seconds},
      analysis::marked<workload::PassRow>(
          {"seconds",
           {"time"},
           microseconds,
           [](const workload::PassRow& row) { return row.seconds(); }},
          rests),
      {"bound",
       {"bound by"},
       Quantity::name(),
       [](const workload::PassRow& row) { return row.is_host_bound ? "host" : "kernels"; }},
      {"assumed", &workload::PassRow::assumed}};
  return columns;
}

std::string size_text(const workload::ModelSize& size) {
  const auto billions = [](std::uint64_t parameters) {
    return fmt::format("{:.4g} billion", static_cast<double>(parameters) / 1e9);
  };
  return fmt::format(
      "{}: {} parameters, {} for a token\n"
      "{:.1f} GFLOP a token of {}, forward and backward, with causal attention; {:.1f} with full\n",
      size.name.empty() ? "a model without a name" : analysis::printable(size.name),
      billions(size.parameters),
      size.active == size.parameters ? "all of them active" : billions(size.active) + " active",
      size.flops_per_token / 1e9, size.sequence, size.full_attention_flops_per_token / 1e9);
}

// Line on the software: "stack megatron-core, attention cudnn".
std::string software_text(const ModelReport& report) {
  const std::string attention =
      report.attention.empty() ? "" : fmt::format(", attention {}", report.attention);
  return fmt::format("stack {}{}\n", analysis::printable(report.stack), attention);
}

std::string model_notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes)
    text += fmt::format("note: {}\n", analysis::printable(note));
  return text;
}

std::string times_text(const ModelReport& report) {
  std::string text;
  std::vector<workload::PassRow> sums;
  for (const workload::PartTimes& part : report.times) {
    if (part.is_layer)
      text += fmt::format("\n{} on {}, without collectives\n\n{}", part.part,
                          analysis::printable(report.gpu),
                          table_text(kernel_row_columns(), part.kernels));
    sums.insert(sums.end(), part.passes.begin(), part.passes.end());
  }
  text += '\n' + table_text(pass_columns(), sums);
  const std::string assumed = analysis::assumed_lines({{report.assumed_gpu, report.assumed}});
  return text + (assumed.empty() ? "" : "~ depends on ") + assumed;
}

}  // namespace

std::string models_text(std::span<const workload::ModelSize> models) {
  return table_text(size_columns(), models);
}

Json models_json(std::span<const workload::ModelSize> models) {
  return json_rows(size_columns(), models);
}

std::string model_text(const ModelReport& report) {
  return size_text(report.size) + model_notes_text(report.notes) +
         fmt::format("\non one GPU, {}\n{}\n", report.layout, software_text(report)) +
         table_text(part_columns(), report.parts) + (report.gpu.empty() ? "" : times_text(report));
}

Json model_json(const ModelReport& report) {
  Json json = json_object(size_columns(), report.size);
  json["layout"] = json_object(layout_columns(), report.sizes);
  json["precision"] = report.precision;
  json["stack"] = report.stack;
  if (!report.notes.empty()) json["notes"] = report.notes;
  json["parts"] = json_rows(part_columns(), report.parts);
  if (report.gpu.empty()) return json;
  json["gpu"] = report.gpu;
  json["attention"] = report.attention;
  json["peak_flops"] = report.peak_flops;  // dense, of the precision
  json["times"] = Json::array();
  for (const workload::PartTimes& part : report.times)
    json["times"].push_back({{"part", part.part},
                             {"kernels", json_rows(kernel_row_columns(), part.kernels)},
                             {"passes", json_rows(pass_columns(), part.passes)}});
  json["assumed"] = report.assumed;
  json["derived"] = Json::array();
  for (const config::DerivedNumber& number : report.derived)
    json["derived"].push_back({{"key", number.key}, {"source", number.source}});
  return json;
}

}  // namespace pipewright::cli
