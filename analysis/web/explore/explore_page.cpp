#include "analysis/web/explore/explore_page.hpp"

#include <array>
#include <sstream>

#include <nlohmann/json.hpp>

#include "analysis/report/assumed.hpp"
#include "analysis/web/html_file.hpp"

namespace pipewright::analysis {
namespace {

// Scripts of the page; each uses only scripts before it.
constexpr std::array explore_scripts{
    "units.js",        "elements.js",       "theme.js",    "tables.js",   "metrics.js",
    "ask.js",          "controls_table.js", "form.js",     "add_key.js",  "scenario_view.js",
    "headline.js",     "run_frame.js",      "what_ifs.js", "variants.js", "take_away.js",
    "explore_keys.js", "explore.js"};

}  // namespace

std::string explore_page(std::string_view scenario) {
  std::ostringstream stream;
  write_head(stream, "explore", {"page.css", "timeline.css", "explore.css"},
             "; connect-src 'self'; frame-src 'self'");
  Frame frame(stream, asset("explore.html"));
  frame.fill("glossary", asset("glossary.html"));
  const nlohmann::json data{{"scenario", scenario}, {"assumed_words", assumed_words}};
  frame.fill("data",
             script_safe(data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  frame.fill("script", joined_scripts(explore_scripts));
  frame.finish();
  return std::move(stream).str();
}

}  // namespace pipewright::analysis
