#include "analysis/page/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/page/assets.hpp"
#include "analysis/page/html_file.hpp"
#include "analysis/page/page_data.hpp"
#include "analysis/page/run_tables.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

// In an order in which each uses only those before it.
constexpr std::array scripts{"units.js",      "elements.js",     "columns.js",      "theme.js",
                             "rows.js",       "view.js",         "gestures.js",     "paints.js",
                             "spans.js",      "raster.js",       "row_marks.js",    "overlay.js",
                             "timeline.js",   "minimap.js",      "describe.js",     "search.js",
                             "selection.js",  "controls.js",     "legend.js",       "plot.js",
                             "memory.js",     "memory_stack.js", "memory_panel.js", "links.js",
                             "link_panel.js", "tables.js",       "metrics.js",      "devices.js",
                             "why.js",        "panels.js",       "expose.js",       "page.js"};

// An element for each table of each run, where page.js finds it.
std::string table_elements(std::span<const trace::Trace> runs, double ticks_per_s) {
  std::string elements;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<ColumnTable> tables = run_tables(runs[i], ticks_per_s);
    for (std::size_t table = 0; table < tables.size(); ++table)
      elements += fmt::format("<script type=\"text/plain\" id=\"{}-{}\">{}</script>\n",
                              tables[table].schema->name, i, base64(gzip(encode(tables, table))));
  }
  return elements;
}

}  // namespace

void write_page(std::span<const trace::Trace> runs, const std::filesystem::path& file) {
  if (runs.empty()) throw std::logic_error("a page of no runs");
  std::vector<Summary> summaries;
  double longest_s = 0;
  for (const trace::Trace& run : runs) {
    summaries.push_back(summarize(run));
    longest_s = std::max(longest_s, summaries.back().makespan_s);
  }
  const int digits = tick_digits(longest_s);
  // Why runs take their time is half of the work.
  std::future<std::string> data =
      std::async(std::launch::async, [&] { return page_json(runs, summaries, digits); });
  const std::string tables = table_elements(runs, std::pow(10.0, digits));

  trace::write_file(file, [&](std::ostream& stream) {
    Frame frame(stream, asset("page.html"));
    frame.fill("chart style", asset("uPlot.min.css"));
    frame.fill("style", fmt::format("{}{}", asset("page.css"), asset("timeline.css")));
    frame.fill("glossary", asset("glossary.html"));
    frame.fill("data", data.get());
    frame.fill("tables", tables);
    frame.fill("chart script", asset("uPlot.iife.min.js"));
    frame.fill("script", joined_scripts(scripts));
    frame.finish();
  });
}

}  // namespace pipewright::analysis
