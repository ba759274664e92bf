#include "analysis/page/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/page/assets.hpp"
#include "analysis/page/binary_text.hpp"
#include "analysis/page/page_data.hpp"
#include "analysis/page/row_columns.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

// In an order in which each uses only those before it.
constexpr std::array scripts{"units.js",    "rows.js",    "theme.js",  "view.js",
                             "gestures.js", "axis.js",    "raster.js", "timeline.js",
                             "memory.js",   "tooltip.js", "panels.js", "page.js"};

std::string joined_scripts() {
  std::string joined = "(() => {\n\"use strict\";\n";
  for (const char* name : scripts) joined += asset(name);
  return joined + "})();\n";
}

std::string row_elements(std::span<const trace::Trace> runs, double ticks_per_s) {
  std::string elements;
  for (std::size_t i = 0; i < runs.size(); ++i)
    elements += fmt::format("<script type=\"text/plain\" id=\"rows-{}\">{}</script>\n", i,
                            base64(gzip(row_columns(runs[i], ticks_per_s))));
  return elements;
}

// Puts content in the place of each "{{name}}" of the page's frame.
class Frame {
 public:
  explicit Frame(std::ostream& stream) : stream_(stream), rest_(asset("page.html")) {}

  void fill(std::string_view name, std::string_view content) {
    const std::string place = fmt::format("{{{{{}}}}}", name);
    const std::size_t at = rest_.find(place);
    if (at == std::string_view::npos)
      throw std::logic_error(fmt::format("page.html has no place for {}", name));
    stream_ << rest_.substr(0, at) << content;
    rest_.remove_prefix(at + place.size());
  }
  void finish() { stream_ << rest_; }

 private:
  std::ostream& stream_;
  std::string_view rest_;
};

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

  trace::write_file(file, [&](std::ostream& stream) {
    Frame frame(stream);
    frame.fill("chart style", asset("uPlot.min.css"));
    frame.fill("style", asset("page.css"));
    frame.fill("data", page_json(runs, summaries, digits));
    frame.fill("rows", row_elements(runs, std::pow(10.0, digits)));
    frame.fill("chart script", asset("uPlot.iife.min.js"));
    frame.fill("script", joined_scripts());
    frame.finish();
  });
}

}  // namespace pipewright::analysis
