#include "analysis/web/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "analysis/report/idle_time.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/picture/titles.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/report/why/critical_path.hpp"
#include "analysis/report/why/why.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/trace/tables.hpp"
#include "analysis/web/html_file.hpp"
#include "analysis/web/run_tables.hpp"

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;

double share(double bytes, double bandwidth, double s) {
  return bandwidth > 0 && s > 0 ? bytes / (bandwidth * s) : 0;
}

// Returns labels and colours of a chart's components as JSON, in their order.
template <class Styles>
Json components(const Styles& styles) {
  Json list = Json::array();
  for (const ComponentStyle& style : styles)
    list.push_back({{"words", style.words}, {"fill", hex(style.colour)}});
  return list;
}

// Returns the names of the values of each enumeration in the page's tables, in numerical order.
Json enumerations() {
  constexpr std::array<const char*, idle_causes> causes{
      "input",      "transfer", "rendezvous", "blocked_send", "weights", "gradients",
      "embeddings", "norm",     "peers",      "finished",     "other"};
  constexpr std::array<const char*, critical_parts> parts{
      "compute",   "in_passes",  "transfer", "rendezvous", "blocked_send",   "weights",
      "gradients", "embeddings", "norm",     "optimizer",  "other_replicas", "other"};
  const auto names = [](trace::ColumnType type) {
    Json list = Json::array();
    for (const char* name : trace::enum_names(type)) list.push_back(name);
    return list;
  };
  return {{"idle_causes", causes},
          {"critical_parts", parts},
          {"traffic", names(trace::ColumnType::traffic_class)},
          {"collectives", names(trace::ColumnType::collective_kind)}};
}

// Returns the colour of each activity in a device's time, by its field of `why --json`.
Json time_fills() {
  using namespace time_colours;
  return {{"in_passes_s", hex(in_passes)},   {"p2p_s", hex(transfers)},
          {"weights_s", hex(weights)},       {"gradients_s", hex(gradients)},
          {"embeddings_s", hex(embeddings)}, {"norm_s", hex(norm)},
          {"optimizer_s", hex(optimizer)},   {"warm_up_s", hex(warm_up)},
          {"steady_s", hex(steady)},         {"cool_down_s", hex(cool_down)}};
}

Json colours(std::uint32_t chunks) {
  Json kinds = Json::array();
  for (int kind = 0; kind < trace::pass_kinds; ++kind) {
    Json shades = Json::array();
    for (std::uint32_t chunk = 0; chunk < std::max(1U, chunks); ++chunk) {
      const Colour colour = pass_colour(static_cast<trace::PassKind>(kind), chunk, chunks);
      shades.push_back({{"fill", hex(colour)}, {"dark_text", needs_dark_text(colour)}});
    }
    kinds.push_back(shades);
  }
  return kinds;
}

Json links_json(const trace::Trace& trace, double makespan_s) {
  const std::vector<LinkTotals> totals = link_totals(trace, makespan_s);
  Json links = Json::array();
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const trace::LinkRow& link = trace.links[i];
    Json json{{"name", link.name},
              {"link_class", link.link_class},
              {"alike", link.alike},
              {"bandwidth", link.bandwidth},
              {"bytes", totals[i].bytes},
              {"mean_use", totals[i].mean_use},
              {"waited_s", totals[i].waited_s}};
    json["peak_use"] = totals[i].peak_use ? Json(*totals[i].peak_use) : Json(nullptr);
    links.push_back(std::move(json));
  }
  return links;
}

// Total bytes of the boundary tensors between devices; null if the trace has no sizes.
Json traffic(const trace::Trace& trace) {
  std::uint64_t bytes = 0;
  for (const trace::TransferRow& row : trace.transfers) bytes += row.bytes;
  return bytes > 0 ? Json(bytes) : Json(nullptr);
}

// Returns the figures of `pipewright why --json` that need no further simulation; null for an empty
// run.
Json why_json(const trace::Trace& trace, const Summary& summary) {
  if (trace.passes.empty() || summary.makespan_s <= 0) return nullptr;
  return Json::parse(why_json_text(why(trace)));
}

Json run_json(const trace::Trace& trace, const Summary& summary, const RunTitle& title,
              double ticks_per_s, double start_s) {
  Json run;
  run["name"] = title.name;
  run["details"] = title.details;
  run["makespan"] = std::llround((start_s + summary.makespan_s) * ticks_per_s);  // end of the run
  run["chunks"] = trace.run.chunks;
  run["iterations"] = trace.run.iterations;
  run["colours"] = colours(trace.run.chunks);
  run["hosts"] = Json::array();
  run["capacities"] = Json::array();
  for (const trace::DeviceRow& device : trace.devices) {
    run["hosts"].push_back(device.host);
    run["capacities"].push_back(device.memory_capacity);
  }
  run["links"] = links_json(trace, summary.makespan_s);
  run["why"] = why_json(trace, summary);
  run["facts"] = {{"job", trace.run.job},
                  {"engine", trace.run.engine},
                  {"network", trace.run.network},
                  {"point to point", trace.run.p2p},
                  {"versions", trace.run.versions}};
  run["scenario"] = trace.run.scenario;
  return run;
}

std::string title_of(std::span<const Summary> runs, const AtOnce* at_once) {
  const std::string subject = common_subject(runs).name;
  return fmt::format("{}{}{}", subject, subject.empty() ? "" : ": ",
                     fmt::join(at_once != nullptr ? at_once->names : run_names(runs), ", "));
}

double start_of(const AtOnce* at_once, std::size_t run) {
  return at_once != nullptr ? at_once->starts_s.at(run) : 0;
}

// Returns the HTML elements that hold the tables: a script element per table and run, with the id
// that page.js expects.
std::string table_elements(std::span<const trace::Trace> runs, double ticks_per_s,
                           const AtOnce* at_once) {
  std::string elements;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<ColumnTable> tables = run_tables(runs[i], ticks_per_s, start_of(at_once, i));
    for (std::size_t table = 0; table < tables.size(); ++table)
      elements += fmt::format("<script type=\"text/plain\" id=\"{}-{}\">{}</script>\n",
                              tables[table].schema->name, i, base64(gzip(encode(tables, table))));
  }
  return elements;
}

}  // namespace

std::vector<LinkTotals> link_totals(const trace::Trace& trace, double makespan_s) {
  struct Piece {
    double end = 0;
    double bytes = 0;
  };
  std::vector<LinkTotals> totals(trace.links.size());
  std::vector<std::map<double, Piece>> pieces(totals.size());  // by link and start
  for (const trace::LinkUseRow& row : trace.link_use) {
    LinkTotals& link = totals.at(row.link);
    link.bytes.at(static_cast<std::size_t>(row.traffic)) += row.bytes;
    link.waited_s += row.waited;
    Piece& piece = pieces[row.link][row.start];
    piece.end = std::max(piece.end, row.end);
    piece.bytes += static_cast<double>(row.bytes);
  }
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const double bandwidth = trace.links[i].bandwidth;
    const auto& carried = totals[i].bytes;
    const auto sum = std::accumulate(carried.begin(), carried.end(), std::uint64_t{0});
    totals[i].mean_use = share(static_cast<double>(sum), bandwidth, makespan_s);
    // The average over a period that covers most of the run is no peak.
    for (const auto& [start, piece] : pieces[i]) {
      if (piece.end - start > 0.5 * makespan_s) continue;
      totals[i].peak_use = std::max(totals[i].peak_use.value_or(0),
                                    share(piece.bytes, bandwidth, piece.end - start));
    }
  }
  return totals;
}

int tick_digits(double longest_s) {
  constexpr int digits = 11;  // of the longest run in ticks
  return longest_s > 0 ? digits - 1 - static_cast<int>(std::floor(std::log10(longest_s))) : 0;
}

std::string page_json(std::span<const trace::Trace> runs, std::span<const Summary> summaries,
                      int digits, const AtOnce* at_once) {
  const double ticks_per_s = std::pow(10.0, digits);
  Json page;
  page["at_once"] = at_once != nullptr;
  page["tick_digits"] = digits;
  page["tables"] = schema_json(page_tables());
  page["kinds"] = Json::array();
  for (const KindStyle& kind : kind_styles)
    page["kinds"].push_back({{"letter", std::string(1, kind.letter)}, {"words", kind.words}});
  page["enumerations"] = enumerations();
  page["categories"] = components(memory_styles);
  page["traffic"] = components(traffic_styles);
  page["time_fills"] = time_fills();
  const Subject subject = common_subject(summaries);
  page["subject"] = {{"name", subject.name},
                     {"details", at_once != nullptr ? at_once->words : subject.details}};
  std::vector<RunTitle> titles = run_titles(summaries);
  const std::vector<std::string> names = at_once != nullptr ? at_once->names : run_names(summaries);
  for (std::size_t i = 0; i < titles.size(); ++i) titles[i].name = names[i];
  page["runs"] = Json::array();
  // The figures of `--json`, with times shifted to the page's common time axis.
  std::vector<Summary> placed(summaries.begin(), summaries.end());
  for (std::size_t i = 0; i < placed.size(); ++i)
    for (DeviceSummary& device : placed[i].devices) {
      device.start_s += start_of(at_once, i);
      device.end_s += start_of(at_once, i);
      device.peak_time_s += start_of(at_once, i);
      if (device.over_since_s) *device.over_since_s += start_of(at_once, i);
    }
  const Json figures = Json::parse(json_list(placed));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    page["runs"].push_back(
        run_json(runs[i], summaries[i], titles[i], ticks_per_s, start_of(at_once, i)));
    page["runs"].back()["summary"] = figures[i];
    page["runs"].back()["summary"]["p2p_bytes"] = traffic(runs[i]);
  }
  // Names may contain invalid UTF-8, which is replaced by U+FFFD.
  return script_safe(page.dump(-1, ' ', false, Json::error_handler_t::replace));
}

namespace {

void write(std::span<const trace::Trace> runs, const AtOnce* at_once,
           const std::filesystem::path& file) {
  if (runs.empty()) throw std::logic_error("a page needs at least one run");
  std::vector<Summary> summaries;
  double longest_s = 0;
  for (const trace::Trace& run : runs) {
    summaries.push_back(summarize(run));
    longest_s =
        std::max(longest_s, start_of(at_once, summaries.size() - 1) + summaries.back().makespan_s);
  }
  const int digits = tick_digits(longest_s);
  // Explaining the runs is half of the work, so it runs in parallel to encoding the tables.
  std::future<std::string> data =
      std::async(std::launch::async, [&] { return page_json(runs, summaries, digits, at_once); });
  const std::string tables = table_elements(runs, std::pow(10.0, digits), at_once);

  trace::write_file(file, [&](std::ostream& stream) {
    write_head(stream, title_of(summaries, at_once), {"uPlot.min.css", "page.css", "timeline.css"});
    Frame frame(stream, asset("page.html"));
    frame.fill("glossary", asset("glossary.html"));
    frame.fill("data", data.get());
    frame.fill("tables", tables);
    frame.fill("chart script", asset("uPlot.iife.min.js"));
    frame.fill("script", bundled_script("page.js"));
    frame.finish();
  });
}

}  // namespace

void write_page(std::span<const trace::Trace> runs, const std::filesystem::path& file) {
  write(runs, nullptr, file);
}

void write_page(std::span<const trace::Trace> runs, const AtOnce& at_once,
                const std::filesystem::path& file) {
  write(runs, &at_once, file);
}

}  // namespace pipewright::analysis
