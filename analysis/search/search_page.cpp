#include "analysis/search/search_page.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/page/assets.hpp"
#include "analysis/page/html_file.hpp"
#include "analysis/search/findings.hpp"
#include "analysis/search/page_columns.hpp"
#include "analysis/search/page_head.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

// Those of the page of a run, then our own, each after those that it uses.
constexpr std::array scripts{"units.js",        "elements.js",    "columns.js",      "theme.js",
                             "tables.js",       "search_data.js", "search_paint.js", "candidate.js",
                             "plot_frame.js",   "scatter.js",     "parallel.js",     "heat_map.js",
                             "search_lists.js", "search_page.js"};

// [[row, text], ...]
std::string scenarios(const SearchRun& run, const Findings& findings,
                      const ScenarioOf& scenario_of) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::size_t row : rows_with_scenarios(findings, most_scenarios))
    all.push_back({row, scenario_of(run.rows[row].candidate)});
  return base64(gzip(all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

}  // namespace

void write_search_page(const std::filesystem::path& path, const SearchRun& run,
                       const ScenarioOf& scenario_of) {
  const Findings findings = find(run);
  const PageColumns columns = page_columns(run);
  trace::write_file(path, [&](std::ostream& stream) {
    Frame frame(stream, asset("search.html"));
    frame.fill("style", fmt::format("{}{}", asset("page.css"), asset("search.css")));
    frame.fill("data", page_head(run, findings, columns.notes));
    frame.fill("rows", base64(gzip(columns.bytes)));
    frame.fill("scenarios", scenarios(run, findings, scenario_of));
    frame.fill("script", joined_scripts(scripts));
    frame.finish();
  });
}

}  // namespace pipewright::analysis
