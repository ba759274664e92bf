#include "analysis/json_report.hpp"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json device_json(const DeviceSummary& device) {
  Json json;
  json["device"] = device.device;
  json["host"] = device.host;
  json["passes"] = device.passes;
  json["busy_s"] = device.busy_s;
  json["start_s"] = device.start_s;
  json["end_s"] = device.end_s;
  json["exposed_communication_s"] = device.exposed.total_s();
  json["exposed"] = {{"p2p_s", device.exposed.p2p_s},
                     {"in_passes_s", device.exposed.in_passes_s},
                     {"gradients_s", device.exposed.gradients_s},
                     {"weights_s", device.exposed.weights_s}};
  json["optimizer_step_s"] = device.step_s;
  json["peak_in_flight"] = device.peak_in_flight;
  json["peak_memory_bytes"] = device.peak_memory_bytes;
  Json held;
  for (std::size_t i = 0; i < trace::memory_categories; ++i)
    if (device.at_peak[i] > 0)
      held[trace::enum_names(trace::ColumnType::memory_category)[i]] = device.at_peak[i];
  json["at_peak_bytes"] = held.is_null() ? Json::object() : held;
  json["peak_time_s"] = device.peak_time_s;
  json["memory_capacity_bytes"] =
      device.memory_capacity_bytes == 0 ? Json(nullptr) : Json(device.memory_capacity_bytes);
  if (!device.memory_host.empty()) json["memory_host"] = device.memory_host;
  json["fits"] = device.memory_capacity_bytes == 0 ? Json(nullptr) : Json(device.fits());
  json["over_since_s"] = or_null(device.over_since_s);
  return json;
}

Json job_json(const JobInfo& job) {
  Json json;
  json["model"] = job.model;
  json["gpu"] = job.gpu;
  json["tp"] = job.tp;
  json["cp"] = job.cp;
  json["ep"] = job.ep;
  json["dp"] = job.dp;
  json["pp"] = job.pp;
  json["sp"] = job.sequence_parallel;
  json["zero"] = job.zero;
  json["global_batch_samples"] = job.global_batch;
  json["microbatch_samples"] = job.microbatch_size;
  json["sequence_tokens"] = job.sequence;
  json["recompute"] = job.recompute;
  json["partition"] = job.partition;
  json["symmetric"] = job.symmetric;
  return json;
}

Json run_json(const Summary& summary) {
  Json json;
  json["schedule"] = summary.run.schedule;
  json["num_stages"] = summary.run.devices;
  json["num_batches"] = summary.run.microbatches;
  json["chunks"] = summary.run.chunks;
  json["iterations"] = summary.run.iterations;
  json["replicas"] = summary.run.replicas;
  json["gpus"] = gpus(summary.run);
  json["engine"] = summary.run.engine;
  json["p2p"] = summary.run.p2p;
  json["network"] = summary.run.network;
  json["job"] = summary.job ? job_json(*summary.job) : Json(nullptr);
  json["makespan_s"] = summary.makespan_s;
  json["bubble_ratio"] = summary.bubble_ratio;
  json["span_bubble_s"] = summary.span_bubble_s;
  json["samples_per_s"] = or_null(summary.samples_per_s);
  json["tokens_per_s"] = or_null(summary.tokens_per_s);
  json["model_flops_per_gpu"] = or_null(summary.model_flops_per_gpu);
  json["mfu"] = or_null(summary.mfu);
  json["hfu"] = or_null(summary.hfu);
  json["exposed_communication_s"] = exposed_communication(summary);
  const bool known = std::ranges::any_of(summary.devices, [](const DeviceSummary& device) {
    return device.memory_capacity_bytes > 0;
  });
  json["fits"] = known ? Json(fits(summary)) : Json(nullptr);
  json["devices"] = Json::array();
  for (const DeviceSummary& device : summary.devices)
    json["devices"].push_back(device_json(device));
  json["versions"] = summary.run.versions;
  json["definitions"] = "analysis/metrics.md";  // of every key
  return json;
}

Json list_json(std::span<const Summary> runs, std::span<const JsonFields> more) {
  Json json = Json::array();
  for (const Summary& run : runs) {
    const std::size_t index = json.size();
    json.push_back(run_json(run));
    if (index >= more.size()) continue;
    for (const JsonField& field : more[index])
      std::visit([&](const auto& value) { json.back()[field.key] = value; }, field.value);
  }
  return json;
}

std::string text_of(const Json& json) {
  // Names come from files: bytes that are no UTF-8 become U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string json_summary(std::span<const Summary> runs, std::span<const JsonFields> more) {
  const Json json = list_json(runs, more);
  return text_of(runs.size() == 1 ? json[0] : json);
}

std::string json_list(std::span<const Summary> runs, std::span<const JsonFields> more) {
  return text_of(list_json(runs, more));
}

}  // namespace pipewright::analysis
