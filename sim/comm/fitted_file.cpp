#include "sim/comm/fitted_file.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/units_text.hpp"
#include "sim/comm/xml_places.hpp"

namespace pipewright::comm {
namespace {

// What stands before something in its line, if that is nothing but blanks.
std::string indentation(const std::string& text, std::size_t at) {
  const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const std::string before = text.substr(line, at - line);
  return before.find_first_not_of(" \t") == std::string::npos ? before : "";
}

std::string errors_text(const analysis::ErrorSummary& errors) {
  return fmt::format("median {}, 90th percentile {}, largest {}",
                     analysis::format_percent(errors.median), analysis::format_percent(errors.p90),
                     analysis::format_percent(errors.largest));
}

std::string value_text(double value, const std::string& unit) {
  return unit == "s" ? fmt::format("{:.6g}us", value * 1e6) : fmt::format("{:.6g}", value);
}

}  // namespace

std::string with_properties(const std::string& text, const Properties& properties,
                            std::span<const std::string> comment) {
  const ZonePlace zone = find_outermost_zone(text);
  const std::string end_of_line = text.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  const std::string outer = indentation(text, zone.begin);
  const std::string inner = end_of_line + outer + "  ";

  std::map<std::size_t, std::pair<std::size_t, std::string>> edits;  // from: to, what instead
  std::string added = inner + "<!--";
  for (const std::string& line : comment) added += inner + escape_comment(line);
  added += inner + "-->";
  for (const auto& [id, value] : properties) {
    bool is_there = false;
    for (const PropertyPlace& place : zone.properties)
      if (place.id == id) {
        edits[place.value_begin] = {place.value_end, escape_attribute(value)};
        is_there = true;
      }
    if (!is_there)
      added += fmt::format("{}<prop id=\"{}\" value=\"{}\"/>", inner, escape_attribute(id),
                           escape_attribute(value));
  }
  if (zone.is_empty)  // <zone/> becomes <zone></zone>
    edits[zone.inside - 2] = {zone.inside,
                              fmt::format(">{}{}{}</{}>", added, end_of_line, outer, zone.name)};
  else
    edits[zone.inside] = {zone.inside, added};

  std::string edited;
  std::size_t at = 0;
  for (const auto& [from, edit] : edits) {
    edited.append(text, at, from - at);
    edited += edit.second;
    at = edit.first;
  }
  return edited.append(text, at);
}

std::string fitted_platform(const std::string& text, const analysis::FitReport& report,
                            const std::string& made_by) {
  Properties properties;
  for (const analysis::FittedParameter& one : report.fitted)
    properties.emplace_back(one.name, value_text(one.value, one.unit));
  if (report.keeps_expectations) {
    const ZonePlace zone = find_outermost_zone(text);
    for (const analysis::FittedParameter& one : report.fitted) {
      const std::string id = "expected." + one.name;
      const auto is_it = [&](const PropertyPlace& place) { return place.id == id; };
      if (std::ranges::none_of(zone.properties, is_it))
        properties.emplace_back(id, value_text(one.before, one.unit));
    }
  }
  properties.emplace_back("fitted-from", fmt::format("{}", fmt::join(report.files, ", ")));

  const analysis::ErrorSummary fitted = errors_of(report.after, false);
  const analysis::ErrorSummary held_out = errors_of(report.after, true);
  std::vector<std::string> comment{fmt::format("Fitted by {} to {} rows of", made_by, fitted.rows)};
  for (const std::string& file : report.files) comment.push_back("  " + file);
  comment.push_back("Errors on these rows: " + errors_text(fitted) + ".");
  if (held_out.rows != 0)
    comment.push_back(
        fmt::format("On {} rows held out: {}.", held_out.rows, errors_text(held_out)));
  for (const analysis::FittedParameter& one : report.fitted)
    comment.push_back(fmt::format("{}: {} before, {} now, {} with 68 %", one.name,
                                  analysis::parameter_text(one.before, one.unit),
                                  analysis::parameter_text(one.value, one.unit),
                                  analysis::interval_text(one)));
  return with_properties(text, properties, comment);
}

}  // namespace pipewright::comm
