#include "analysis/report/summary_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "analysis/trace/evidence_json.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

const ColumnScale percent{1, 1, "%"};

double percentage(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// Returns the smallest and the largest value over the devices of a run.
template <class Value>
Range over_devices(const Summary& run, Value DeviceSummary::*value) {
  if (run.devices.empty()) return {};
  const auto [low, high] = std::ranges::minmax(run.devices, {}, value);
  return {static_cast<double>(low.*value), static_cast<double>(high.*value)};
}

// Formats a range of numbers of microbatches. They are fractions if a device holds several chunks.
// Fractions that hundredths do not express are rounded to three digits.
std::string microbatches(Range count) {
  const auto is_exact = [&](double power) {
    return count.least * power == std::floor(count.least * power) &&
           count.most * power == std::floor(count.most * power);
  };
  int decimals = 0;
  for (double power = 1; decimals < 2 && !is_exact(power); power *= 10) ++decimals;
  if (decimals == 2 && count.most >= 10 && !is_exact(100)) decimals = 1;
  return ColumnScale{1, decimals, ""}(count);
}

Json peak_contents_json(const DeviceSummary& device) {
  const auto names = trace::enum_names(trace::ColumnType::memory_category);
  Json contents = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (device.at_peak[i] > 0) contents[names[i]] = device.at_peak[i];
  return contents;
}

ReportColumns<TimeParts> exposed_columns() {
  return {{"p2p_s", &TimeParts::p2p},
          {"in_passes_s", &TimeParts::in_passes},
          {"gradients_s", &TimeParts::gradients},
          {"weights_s", &TimeParts::weights}};
}

Json fits_json(const Summary& run) {
  const bool is_known = std::ranges::any_of(run.devices, &DeviceSummary::memory_capacity_bytes);
  return is_known ? Json(fits(run)) : Json();
}

// Column of memory peaks: the lowest and the highest peak over devices. It marks runs in which a
// device exceeds its capacity.
ReportColumn<Summary> memory_column(std::span<const Summary> runs) {
  const auto peak_of = [](const Summary& run) {
    return over_devices(run, &DeviceSummary::peak_memory_bytes);
  };
  double largest = 0;
  for (const Summary& run : runs) largest = std::max(largest, peak_of(run).most);
  const ColumnScale scale = memory_scale(largest);
  const bool is_any_over = !std::ranges::all_of(runs, fits);
  const auto text_of = [=](const Summary& run) {
    const Range peak = peak_of(run);
    std::string text = peak.most > 0 ? scale(peak) : "-";
    if (is_any_over) text += fits(run) ? ' ' : '!';
    return text;
  };
  return table_only<Summary>(
      {"memory", {"peak", "memory", scale.unit}, Quantity::count(), text_of});
}

using JobMember = std::variant<std::string JobInfo::*, std::uint32_t JobInfo::*,
                               std::uint64_t JobInfo::*, double JobInfo::*, bool JobInfo::*>;
constexpr std::array<std::pair<const char*, JobMember>, 34> job_fields{{
    {"model", &JobInfo::model},
    {"gpu", &JobInfo::gpu},
    {"stack", &JobInfo::stack},
    {"tp", &JobInfo::tp},
    {"tp_by_device", &JobInfo::tp_by_device},
    {"cp", &JobInfo::cp},
    {"ep", &JobInfo::ep},
    {"etp", &JobInfo::etp},
    {"dp", &JobInfo::dp},
    {"replicate", &JobInfo::replicate},
    {"gtp", &JobInfo::gtp},
    {"expert_gtp", &JobInfo::expert_gtp},
    {"pp", &JobInfo::pp},
    {"sp", &JobInfo::sequence_parallel},
    {"zero", &JobInfo::zero},
    {"global_batch_samples", &JobInfo::global_batch},
    {"microbatch_samples", &JobInfo::microbatch_size},
    {"sequence_tokens", &JobInfo::sequence},
    {"precision", &JobInfo::precision},
    {"cuda_graphs", &JobInfo::cuda_graphs},
    {"flash_attention", &JobInfo::flash_attention},
    {"recompute", &JobInfo::recompute},
    {"offload", &JobInfo::offload},
    {"optimizer", &JobInfo::optimizer},
    {"trained", &JobInfo::trained},
    {"partition", &JobInfo::partition},
    {"symmetric", &JobInfo::symmetric},
    {"lengths", &JobInfo::lengths},
    {"padding", &JobInfo::padding},
    {"dispatch", &JobInfo::dispatch},
    {"routing", &JobInfo::routing},
    {"uneven", &JobInfo::uneven},
    {"straddling", &JobInfo::straddling},
    {"outside_record", &JobInfo::untried},
}};

}  // namespace

ReportColumns<Summary> run_columns(std::span<const Summary> runs) {
  const auto of_run = [](auto trace::RunInfo::*field) {
    return [field](const Summary& run) -> Json { return run.run.*field; };
  };
  // Heading with the part of the attention scores that the FLOPs of this table count.
  const char* const scores =
      std::ranges::all_of(
          runs,
          [](const Summary& run) { return run.run.model_flops == run.run.full_attention_flops; })
          ? "full"
          : "causal";
  // MFU is relative to the bf16 peak, so the heading says so if a run computes in another
  // precision.
  std::vector<std::string> mfu_heading{"MFU", scores};
  if (std::ranges::any_of(runs, [](const Summary& run) { return run.mfu_precision != run.mfu; }))
    mfu_heading.emplace_back("of bf16");
  const Quantity teraflops =
      Quantity::each_as([](double flops) { return fmt::format("{:.1f}", flops / 1e12); });
  return {
      {"schedule", of_run(&trace::RunInfo::schedule)},
      {"num_stages", of_run(&trace::RunInfo::devices)},
      {"num_batches", of_run(&trace::RunInfo::microbatches)},
      {"chunks", of_run(&trace::RunInfo::chunks)},
      {"iterations", of_run(&trace::RunInfo::iterations)},
      {"replicas", of_run(&trace::RunInfo::replicas)},
      {"gpus", [](const Summary& run) { return gpus(run.run); }},
      {"engine", of_run(&trace::RunInfo::engine)},
      {"p2p", of_run(&trace::RunInfo::p2p)},
      {"network", of_run(&trace::RunInfo::network)},
      {"job",
       [](const Summary& run) { return run.job ? json_object(job_columns(), *run.job) : Json(); }},
      {"expected_error",
       [](const Summary& run) {
         return trace::expected_error_json(run.run.evidence.expected_error);
       }},
      {"assumed", [](const Summary& run) { return run.run.evidence.keys; }},
      {"assumed_gpu", [](const Summary& run) { return run.run.evidence.gpu; }},
      {"makespan_s", {"time"}, Quantity::seconds(4), &Summary::makespan_s},
      {"bubble_ratio", {"bubble", "ratio"}, Quantity::percent(), &Summary::bubble_ratio},
      {"span_bubble_s", {"span", "bubble"}, Quantity::seconds(3), &Summary::span_bubble_s},
      optional<Summary>({"samples_per_s", {"samples"}, Quantity::rate(), &Summary::samples_per_s}),
      optional<Summary>({"tokens_per_s", {"tokens"}, Quantity::rate(), &Summary::tokens_per_s}),
      optional<Summary>({"model_flops_per_gpu",
                         {"TFLOP/s", "per GPU", scores},
                         teraflops,
                         &Summary::model_flops_per_gpu}),
      optional<Summary>({"mfu", mfu_heading, Quantity::on({0.01, 1, "%"}), &Summary::mfu}),
      {"full_attention_flops_per_gpu", &Summary::full_attention_flops_per_gpu},
      {"mfu_full_attention", &Summary::mfu_full_attention},
      {"mfu_precision", &Summary::mfu_precision},
      {"hfu", &Summary::hfu},
      table_only<Summary>(
          {"busy",
           {"busy", "time"},
           Quantity::seconds(3),
           [](const Summary& run) { return over_devices(run, &DeviceSummary::busy_s); }}),
      table_only<Summary>({"in_flight", {"in", "flight", ""}, Quantity::count(), in_flight_text}),
      memory_column(runs),
      {"exposed_communication_s", {"exposed", "comm"}, Quantity::seconds(3), exposed_communication},
      table_only<Summary>({"exposed_share",
                           {"of", "time"},
                           Quantity::on(percent),
                           [](const Summary& run) {
                             return percentage(exposed_communication(run), run.makespan_s);
                           }}),
      {"fits", fits_json},
      {"devices",
       [](const Summary& run) { return json_rows(device_columns(run.makespan_s), run.devices); }},
      {"pass_collectives",
       [](const Summary& run) {
         return json_rows(pass_collective_columns(), run.pass_collectives);
       }},
      {"versions", of_run(&trace::RunInfo::versions)},
      {"definitions", [](const Summary&) { return "analysis/metrics.md"; }}};
}

ReportColumns<JobInfo> job_columns() {
  ReportColumns<JobInfo> columns;
  for (const auto& [key, field] : job_fields)
    std::visit([&columns, key = key](auto member) { columns.emplace_back(key, member); }, field);
  return columns;
}

std::optional<JobInfo> job_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  JobInfo job;
  for (const auto& [key, field] : job_fields)
    std::visit([&job, &value = json.at(key)](auto member) { value.get_to(job.*member); }, field);
  return job;
}

ReportColumns<DeviceSummary> device_columns(double makespan_s) {
  using Device = DeviceSummary;
  const Quantity time = Quantity::on(time_scale(makespan_s, 4));
  Quantity peak = Quantity::bytes();
  peak.zero_is_unknown = true;
  const auto of_capacity = [](const Device& device) -> Json {
    if (device.memory_capacity_bytes == 0 || device.peak_memory_bytes == 0) return nullptr;
    return percentage(static_cast<double>(device.peak_memory_bytes),
                      static_cast<double>(device.memory_capacity_bytes));
  };
  // Returns the value, or null if the memory capacity of the device is unknown.
  const auto if_known = [](const Device& device, Json value) {
    if (device.memory_capacity_bytes == 0) value = nullptr;
    return value;
  };
  return {
      {"device", {"device"}, Quantity::name(), &Device::device},
      optional<Device>({"host", {"host"}, Quantity::name(), &Device::host}),
      {"passes", {"passes"}, Quantity::count(), &Device::passes},
      {"busy_s", {"busy"}, time, &Device::busy_s},
      {"start_s", {"start"}, time, &Device::start_s},
      {"end_s", {"end"}, time, &Device::end_s},
      table_only<Device>({"idle",
                          {"idle"},
                          Quantity::on(percent),
                          [=](const Device& device) {
                            return percentage(makespan_s - device.busy_s, makespan_s);
                          }}),
      {"exposed_communication_s",
       {"exposed", "comm"},
       Quantity::seconds(3),
       [](const Device& device) { return device.parts.exposed(); }},
      {"exposed",
       [](const Device& device) { return json_object(exposed_columns(), device.parts); }},
      {"optimizer_step_s", [](const Device& device) { return device.parts.optimizer; }},
      {"peak_in_flight",
       {"in", "flight", ""},
       Quantity::each_as([](double count) {
         return microbatches({count, count});
       }),
       &Device::peak_in_flight},
      {"peak_memory_bytes", {"peak", "memory"}, peak, &Device::peak_memory_bytes},
      {"peak_allocated_bytes", {"", "allocated"}, peak, &Device::peak_allocated_bytes},
      table_only<Device>({"of_capacity", {"of", "capacity"}, Quantity::on(percent), of_capacity}),
      {"at_peak_bytes", peak_contents_json},
      {"peak_time_s", &Device::peak_time_s},
      {"memory_capacity_bytes",
       [=](const Device& device) { return if_known(device, device.memory_capacity_bytes); }},
      {"memory_host",
       [](const Device& device) {
         return device.memory_host.empty() ? no_field() : Json(device.memory_host);
       }},
      {"fits", [=](const Device& device) { return if_known(device, device.fits()); }},
      {"over_since_s", &Device::over_since_s}};
}

ReportColumns<DeviceSummary> time_columns(double makespan_s) {
  const Quantity time = Quantity::on(time_scale(makespan_s, 4));
  const ReportColumns<TimeParts> parts{
      {"compute_s", {"", "compute"}, time, &TimeParts::compute},
      {"in_passes_s", {"tp, cp, ep", "collectives"}, time, &TimeParts::in_passes},
      {"p2p_s", {"point", "to point"}, time, &TimeParts::p2p},
      {"gradients_s", {"gradient", "reduction"}, time, &TimeParts::gradients},
      {"weights_s", {"weight", "gather"}, time, &TimeParts::weights},
      {"optimizer_s", {"optimizer", "step"}, time, &TimeParts::optimizer},
      {"idle_s", {"other", "idle"}, time, [](const TimeParts& device) {
         return std::max(0.0, device.idle);
       }}};
  ReportColumns<DeviceSummary> columns{
      {"device", {"device"}, Quantity::name(), &DeviceSummary::device}};
  for (auto& column : of_part<DeviceSummary>(parts, &DeviceSummary::parts))
    columns.push_back(std::move(column));
  return columns;
}

ReportColumns<PassCollectives> pass_collective_columns() {
  using Row = PassCollectives;
  return {
      table_only<Row>({"name",
                       {"collectives in passes"},
                       Quantity::name(),
                       [](const Row& row) { return row.group + ' ' + row.operation; }}),
      {"group", [](const Row& row) { return row.group; }},
      {"operation", [](const Row& row) { return row.operation; }},
      {"calls", {"calls", "per GPU"}, Quantity::count(), [](const Row& row) { return row.calls; }},
      {"bytes", {"bytes"}, Quantity::bytes(), [](const Row& row) { return row.bytes; }},
      {"seconds", {"time"}, Quantity::seconds(3), [](const Row& row) { return row.seconds; }},
      {"exposed_s", {"exposed"}, Quantity::seconds(3), [](const Row& row) {
         return row.exposed_s;
       }}};
}

std::string in_flight_text(const Summary& run) {
  return microbatches(over_devices(run, &DeviceSummary::peak_in_flight));
}

}  // namespace pipewright::analysis
