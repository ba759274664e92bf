#include "analysis/report/search/row_json.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/names.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

using nlohmann::json;

constexpr const char* utf8_note_field = "note";
constexpr const char* basis_field = "basis";
constexpr const char* activities_field = "activities";
constexpr const char* site_field = "site";
// JSON is UTF-8. A note that is not valid UTF-8 is written as Latin-1: each byte is the character
// with its number.
constexpr const char* latin1_note_field = "note_latin1";

std::string utf8_of_latin1(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | (code >> 6));
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return text;
}

std::string latin1_of_utf8(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = static_cast<unsigned char>(text[i]);
    if (code < 0x80) {
      bytes += text[i];
    } else if ((code & 0xFE) == 0xC2 && i + 1 < text.size()) {
      bytes += static_cast<char>((code << 6) | (static_cast<unsigned char>(text[++i]) & 0x3F));
    } else {
      throw std::runtime_error("the note has a character above U+00FF");
    }
  }
  return bytes;
}

std::string note_field(const std::string& note) {
  try {
    return fmt::format(",\"{}\":{}", utf8_note_field, json(note).dump());
  } catch (const json::type_error&) {
    return fmt::format(",\"{}\":{}", latin1_note_field, json(utf8_of_latin1(note)).dump());
  }
}

void add_figure(std::string& line, const char* name, std::uint64_t value) {
  if (value != 0) fmt::format_to(std::back_inserter(line), ",\"{}\":{}", name, value);
}

void add_figure(std::string& line, const char* name, double value) {
  if (!is_known_figure(value)) return;
  if (!std::isfinite(value))
    throw std::logic_error(
        fmt::format("{} of a row of a search is {}, which is not finite", name, value));
  if (value == 0)
    fmt::format_to(std::back_inserter(line), ",\"{}\":-0.0", name);
  else
    fmt::format_to(std::back_inserter(line), ",\"{}\":{}", name, value);
}

constexpr const char* evidence_field = "evidence";

// Names of files may have invalid UTF-8, which is replaced.
void add_evidence(std::string& line, const trace::Evidence& evidence) {
  if (evidence == trace::Evidence{}) return;
  nlohmann::ordered_json fields;
  trace::add_evidence(fields, evidence);
  line += fmt::format(",\"{}\":{}", evidence_field,
                      fields.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::uint64_t count_of(const json& value, std::uint64_t limit = UINT64_MAX) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > limit)
    throw std::runtime_error(fmt::format("{} is not a valid count", value.dump()));
  return value.get<std::uint64_t>();
}

double real_of(const json& value) {
  if (!value.is_number()) throw std::runtime_error(fmt::format("{} is not a number", value.dump()));
  return value.get<double>();
}

Outcome outcome_of(const std::string& name) {
  const auto* const match = std::ranges::find(outcome_names, name);
  if (match == outcome_names.end())
    throw std::runtime_error(fmt::format("'{}' is not an outcome", name));
  return static_cast<Outcome>(match - outcome_names.begin());
}

void read_figure(const json& field, std::uint64_t& figure) { figure = count_of(field); }
void read_figure(const json& field, double& figure) { figure = real_of(field); }

CandidateRow row_of(const json& value) {
  CandidateRow row;
  row.candidate = count_of(value.at("candidate"));
  row.outcome = outcome_of(value.at("outcome").get<std::string>());
  for (const auto& [key, field] : value.items()) {
    const auto* const figure = std::ranges::find(
        candidate_figures, key, [](const CandidateFigure& f) { return std::string_view(f.key); });
    if (figure != candidate_figures.end())
      visit_figure(row, *figure, [&](auto& figure_value) { read_figure(field, figure_value); });
    else if (key == "group")
      row.group = static_cast<std::uint32_t>(count_of(field, UINT32_MAX));
    else if (key == basis_field)
      row.basis = static_cast<Basis>(count_of(field, static_cast<std::uint64_t>(Basis::passes)));
    else if (key == activities_field)
      row.activities = real_of(field);
    else if (key == site_field)
      row.site = {field.at(0), field.at(1), field.at(2), field.at(3), field.at(4)};
    else if (key == utf8_note_field)
      row.note = field.get<std::string>();
    else if (key == evidence_field)
      row.evidence = trace::read_evidence(field);
    else if (key == latin1_note_field)
      row.note = latin1_of_utf8(field.get<std::string>());
    else if (key != "candidate" && key != "outcome")
      throw std::runtime_error(fmt::format("'{}' is not a field of a row", key));
  }
  return row;
}

}  // namespace

std::string to_json_line(const CandidateRow& row) {
  std::string line =
      fmt::format("{{\"candidate\":{},\"group\":{},\"outcome\":\"{}\"", row.candidate, row.group,
                  outcome_names.at(static_cast<std::size_t>(row.outcome)));
  if (!row.note.empty()) line += note_field(row.note);
  if (row.basis != Basis::order)
    fmt::format_to(std::back_inserter(line), ",\"{}\":{}", basis_field,
                   static_cast<int>(row.basis));
  add_figure(line, activities_field, row.activities);
  if (row.site.nodes > 0)
    fmt::format_to(std::back_inserter(line), ",\"{}\":[{},{},{},{},{}]", site_field, row.site.nodes,
                   row.site.cluster_nodes, row.site.racks, row.site.rack_nodes,
                   row.site.traffic_bytes);
  for (const CandidateFigure& figure : candidate_figures)
    visit_figure(row, figure, [&](auto value) { add_figure(line, figure.key, value); });
  add_evidence(line, row.evidence);
  return line += '}';
}

CandidateRow row_of_json(std::string_view line) {
  try {
    return row_of(json::parse(line));
  } catch (const json::exception& error) {
    throw trace::TraceError(fmt::format("not a valid row of a search: {}", error.what()));
  } catch (const std::runtime_error& error) {
    throw trace::TraceError(fmt::format("not a valid row of a search: {}", error.what()));
  }
}

}  // namespace pipewright::analysis
