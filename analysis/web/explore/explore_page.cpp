#include "analysis/web/explore/explore_page.hpp"

#include <sstream>

#include <nlohmann/json.hpp>

#include "analysis/web/html_file.hpp"

namespace pipewright::analysis {

std::string explore_page(std::string_view scenario) {
  std::ostringstream stream;
  write_head(stream, "explore", {"page.css", "timeline.css", "explore.css"},
             "; connect-src 'self'; frame-src 'self'");
  Frame frame(stream, asset("explore.html"));
  frame.fill("glossary", asset("glossary.html"));
  const nlohmann::json data{{"scenario", scenario}};
  frame.fill("data",
             script_safe(data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  frame.fill("script", bundled_script("explore.js"));
  frame.finish();
  return std::move(stream).str();
}

}  // namespace pipewright::analysis
