// Writes pages for tests of panels into a folder: one.html of a run with memory by component and
// links, several.html of three runs, hostile.html of a run with hostile names. expected.json holds
// their expected content.

#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/report/palette.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/web/page.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/web/full_trace.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

json memory_json(const trace::Trace& run) {
  json samples = json::array();
  std::vector<std::array<std::uint64_t, trace::memory_categories>> held(run.devices.size());
  std::vector<double> since(run.devices.size(), -1);
  for (const trace::MemoryRow& row : run.memory) {
    // Expected values are sampled in the middle between two changes; at a change they depend on the
    // order of rows.
    double& before = since[row.device];
    if (before >= 0 && row.time - before > 1e-9)
      samples.push_back(
          {{"device", row.device}, {"time", (row.time + before) / 2}, {"held", held[row.device]}});
    held[row.device].at(static_cast<std::size_t>(row.category)) = row.bytes;
    before = row.time;
  }
  return samples;
}

json use_json(const trace::Trace& run) {
  json rows = json::array();
  for (const trace::LinkUseRow& row : run.link_use)
    rows.push_back(
        {{"link", row.link},
         {"time", (row.start + row.end) / 2},
         {"traffic", analysis::traffic_styles.at(static_cast<std::size_t>(row.traffic)).words},
         {"bytes", row.bytes},
         {"flows", row.flows},
         {"waited", row.waited}});
  return rows;
}

json devices_json(const analysis::Summary& summary) {
  json devices = json::array();
  for (const analysis::DeviceSummary& device : summary.devices) {
    const double share = static_cast<double>(device.peak_memory_bytes) /
                         static_cast<double>(device.memory_capacity_bytes);
    devices.push_back({{"host", device.host},
                       {"busy", analysis::format_seconds(device.busy_s)},
                       {"idle", analysis::format_percent(1 - device.busy_s / summary.makespan_s)},
                       {"memory peak", analysis::format_bytes(device.peak_memory_bytes)},
                       {"of capacity", analysis::format_percent(share)},
                       {"peak_bytes", device.peak_memory_bytes}});
  }
  return devices;
}

json links_json(const trace::Trace& run, double makespan_s) {
  json links = json::array();
  const auto totals = analysis::link_totals(run, makespan_s);
  for (std::size_t i = 0; i < totals.size(); ++i)
    links.push_back({{"name", run.links[i].name},
                     {"mean use", analysis::format_percent(totals[i].mean_use)},
                     {"peak use", totals[i].peak_use ? analysis::format_percent(*totals[i].peak_use)
                                                     : std::string("\u2013")},
                     {"waited", analysis::format_seconds(totals[i].waited_s)}});
  return links;
}

json expectations(const trace::Trace& run) {
  const analysis::Summary summary = analysis::summarize(run);
  const analysis::DeviceSummary& first = summary.devices.front();
  json cards{
      {"time", analysis::format_seconds(summary.makespan_s)},
      {"bubble ratio", analysis::format_percent(summary.bubble_ratio)},
      {"exposed communication", analysis::format_seconds(analysis::exposed_communication(summary))},
      {"memory peak", analysis::format_bytes(first.peak_memory_bytes)}};
  if (summary.tokens_per_s)
    cards["throughput"] = analysis::format_rate(*summary.tokens_per_s, "tokens");
  if (summary.mfu) cards["MFU"] = analysis::format_percent(*summary.mfu);
  return {{"cards", cards},
          {"makespan", summary.makespan_s},
          {"peak_time", first.peak_time_s},
          {"at_peak", first.at_peak},
          {"memory", memory_json(run)},
          {"use", use_json(run)},
          {"devices", devices_json(summary)},
          {"links", links_json(run, summary.makespan_s)}};
}

trace::Trace hostile_trace() {
  const std::string attack = "</script><img src=x onerror=\"window.attacked = 1\">";
  const std::string right_to_left = "\u202eevil \u05e9\u05dc\u05d5\u05dd";
  trace::Trace run = analysis::test::full_trace();
  run.run.schedule = attack + std::string(10'000, 'x');
  run.run.engine = "\x1b[31mred\x07\n" + attack;
  run.run.network = attack;
  run.run.scenario = attack + std::string(10'000, 'y');
  run.devices[0].host = std::string(10'000, 'h');
  run.devices[1].host = right_to_left;
  run.devices[2].host = "a\x01\x02\tb\nc\xff";
  run.devices[3].host = attack;
  run.links[0].name = attack + std::string(10'000, 'l');
  run.links[1].name = right_to_left;
  run.links[1].link_class = std::string(5'000, 'c');
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: pipewright_web_panels FOLDER\n";
    return 2;
  }
  try {
    const std::filesystem::path folder(argv[1]);
    std::filesystem::create_directories(folder);
    const trace::Trace full = analysis::test::full_trace();
    const std::vector<trace::Trace> several{
        full, analysis::test::one_f_one_b_trace({.split_backward = true, .blocked_s = 0.4e-3}),
        analysis::test::one_f_one_b_trace({.devices = 40})};
    analysis::write_page({&full, 1}, folder / "one.html");
    analysis::write_page(several, folder / "several.html");
    analysis::write_page(std::vector{full, full},
                         {.names = {"early", "late"}, .starts_s = {0, 1e-3}, .words = "at once"},
                         folder / "at_once.html");
    trace::Trace guessed = full;
    guessed.run.evidence.expected_error = {
        .low = -0.1, .high = 0.2, .nominal = 0.9, .basis = "b200, bf16, dense", .rows = 12};
    analysis::write_page(std::vector{full, guessed}, folder / "assumed.html");
    analysis::write_page({&guessed, 1}, folder / "guessed.html");
    trace::Trace measured = full;
    for (trace::PassRow& pass : measured.passes) pass.sent = pass.ready = 0;
    analysis::write_page({&measured, 1}, folder / "measured.html");
    trace::Trace waits = full;
    waits.stages.at(1).waits_f = 0.1e-3;
    waits.pass_collectives = {{0, "ep", "dispatch", 8, 3U << 20U, 2e-3, 0.5e-3},
                              {1, "ep", "dispatch", 6, 2U << 20U, 1e-3, 0.5e-3}};
    analysis::write_page({&waits, 1}, folder / "waits.html");
    waits.link_use.back().traffic = trace::TrafficClass::in_passes;
    analysis::write_page({&waits, 1}, folder / "counted.html");
    const trace::Trace hostile = hostile_trace();
    analysis::write_page({&hostile, 1}, folder / "hostile.html");
    json all = json::array();
    for (const trace::Trace& run : several) all.push_back(expectations(run));
    std::ofstream(folder / "expected.json") << all.dump(1) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
