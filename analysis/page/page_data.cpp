#include "analysis/page/page_data.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/palette.hpp"
#include "analysis/timeline/titles.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* unknown = "\u2013";  // en dash

std::string rate(const std::optional<double>& per_s, const char* what) {
  return per_s ? format_rate(*per_s, what) : unknown;
}

std::string with_share(double s, double whole_s) {
  return whole_s > 0 ? fmt::format("{} ({})", format_seconds(s), format_percent(s / whole_s))
                     : format_seconds(s);
}

std::string memory_peak(const Summary& run) {
  if (run.devices.empty()) return unknown;
  const auto peak = [](const DeviceSummary& device) { return device.peak_memory_bytes; };
  const auto [least, most] = std::minmax_element(
      run.devices.begin(), run.devices.end(),
      [&](const DeviceSummary& a, const DeviceSummary& b) { return peak(a) < peak(b); });
  if (peak(*most) == 0) return unknown;
  const std::string low = format_bytes(peak(*least));
  const std::string high = format_bytes(peak(*most));
  return low == high ? high : fmt::format("{} to {}", low, high);
}

// The table of the runs: for each column its head, what explains it, and its cells.
Json table(std::span<const Summary> runs) {
  Json columns = Json::array();
  const auto column = [&](const char* head, const char* meaning, auto&& cell) {
    Json cells = Json::array();
    for (const Summary& run : runs) cells.push_back(cell(run));
    columns.push_back({{"head", head}, {"meaning", meaning}, {"cells", cells}});
  };
  column("schedule", "", [](const Summary& run) { return run.run.schedule; });
  column("devices", "", [](const Summary& run) { return std::to_string(run.run.devices); });
  column("microbatches", "of one iteration",
         [](const Summary& run) { return std::to_string(run.run.microbatches); });
  const auto several = [&](std::uint32_t trace::RunInfo::*count) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const Summary& run) { return run.run.*count > 1; });
  };
  if (several(&trace::RunInfo::chunks))
    column("chunks", "of a device",
           [](const Summary& run) { return std::to_string(run.run.chunks); });
  if (several(&trace::RunInfo::iterations))
    column("iterations", "", [](const Summary& run) { return std::to_string(run.run.iterations); });
  column("time", "the latest end of a pass over all devices",
         [](const Summary& run) { return format_seconds(run.makespan_s); });
  const auto any = [&](std::optional<double> Summary::*what) {
    return std::any_of(runs.begin(), runs.end(), [&](const Summary& run) { return run.*what; });
  };
  if (any(&Summary::samples_per_s))
    column("samples", "samples a second",
           [](const Summary& run) { return rate(run.samples_per_s, "samples"); });
  if (any(&Summary::tokens_per_s))
    column("tokens", "tokens a second",
           [](const Summary& run) { return rate(run.tokens_per_s, "tokens"); });
  column("bubble ratio", "1 - busy / (devices \u00d7 time)",
         [](const Summary& run) { return format_percent(run.bubble_ratio); });
  column("span bubble", "most over devices of (last end - first start - busy)",
         [](const Summary& run) { return format_seconds(run.span_bubble_s); });
  column("exposed communication",
         "idle while the next input or the own send is on its way, of the device with most of it",
         [](const Summary& run) { return with_share(exposed_communication(run), run.makespan_s); });
  column("memory peak", "least to most over devices", memory_peak);

  // What kind of run it was stands in the table where it tells runs apart.
  const auto word = [&](const char* head, std::string trace::RunInfo::*text) {
    const bool same = std::all_of(runs.begin(), runs.end(), [&](const Summary& run) {
      return run.run.*text == runs.front().run.*text;
    });
    if (!same) column(head, "", [&](const Summary& run) { return run.run.*text; });
  };
  word("engine", &trace::RunInfo::engine);
  word("point to point", &trace::RunInfo::p2p);
  word("network", &trace::RunInfo::network);
  return columns;
}

Json colours(std::uint32_t chunks) {
  Json kinds = Json::array();
  for (int kind = 0; kind < trace::pass_kinds; ++kind) {
    Json shades = Json::array();
    for (std::uint32_t chunk = 0; chunk < std::max(1U, chunks); ++chunk) {
      const Colour colour = pass_colour(static_cast<trace::PassKind>(kind), chunk, chunks);
      shades.push_back({{"fill", hex(colour)}, {"dark_text", wants_dark_text(colour)}});
    }
    kinds.push_back(shades);
  }
  return kinds;
}

Json run_json(const trace::Trace& trace, const Summary& summary, const RunTitle& title,
              double ticks_per_s) {
  Json run;
  run["name"] = title.name;
  run["details"] = title.details;
  run["makespan"] = std::llround(summary.makespan_s * ticks_per_s);
  run["chunks"] = trace.run.chunks;
  run["iterations"] = trace.run.iterations;
  run["colours"] = colours(trace.run.chunks);
  run["hosts"] = Json::array();
  run["capacities"] = Json::array();
  for (const trace::DeviceRow& device : trace.devices) {
    run["hosts"].push_back(device.host);
    run["capacities"].push_back(device.memory_capacity);
  }
  run["facts"] = {{"engine", trace.run.engine},
                  {"network", trace.run.network},
                  {"point to point", trace.run.p2p},
                  {"versions", trace.run.versions}};
  run["scenario"] = trace.run.scenario;
  return run;
}

}  // namespace

int tick_digits(double longest_s) {
  constexpr int digits = 11;  // of the longest run
  return longest_s > 0 ? digits - 1 - static_cast<int>(std::floor(std::log10(longest_s))) : 0;
}

std::string script_safe(std::string_view json) {
  std::string safe;
  for (const char c : json)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

std::string page_json(std::span<const trace::Trace> runs, std::span<const Summary> summaries,
                      int digits) {
  const double ticks_per_s = std::pow(10.0, digits);
  Json page;
  page["tick_digits"] = digits;
  page["kinds"] = Json::array();
  for (const KindStyle& kind : kind_styles)
    page["kinds"].push_back({{"letter", std::string(1, kind.letter)}, {"words", kind.words}});
  page["table"] = table(summaries);
  const std::vector<RunTitle> titles = run_titles(summaries);
  page["runs"] = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i)
    page["runs"].push_back(run_json(runs[i], summaries[i], titles[i], ticks_per_s));
  // Bytes of names that are no UTF-8 become U+FFFD.
  return script_safe(page.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace pipewright::analysis
