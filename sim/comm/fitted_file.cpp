#include "sim/comm/fitted_file.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/cluster/cluster.hpp"

namespace pipewright::comm {
namespace {

constexpr std::string_view xml_blanks = " \t\r\n";

bool is_quote(char c) { return c == '"' || c == '\''; }

struct Tag {
  std::string_view name;  // "/zone" of an end tag
  std::size_t begin = 0;
  std::size_t end = 0;  // behind its '>'
  bool is_empty = false;
};

// Iterates over the tags of well-formed XML.
class TagIterator {
 public:
  explicit TagIterator(std::string_view text) : text_(text) {}

  std::optional<Tag> next() {
    while ((at_ = text_.find('<', at_)) < text_.size()) {
      if (starts_with("<!--")) {
        skip_behind("-->");
      } else if (starts_with("<![CDATA[")) {
        skip_behind("]]>");
      } else if (starts_with("<?")) {
        skip_behind("?>");
      } else if (starts_with("<!")) {
        skip_declaration();
      } else {
        return read_tag();
      }
    }
    return std::nullopt;
  }

 private:
  bool starts_with(std::string_view words) const { return text_.substr(at_).starts_with(words); }
  void skip_behind(std::string_view words) {
    const std::size_t position = text_.find(words, at_);
    at_ = position == std::string_view::npos ? text_.size() : position + words.size();
  }
  // Skips a <!DOCTYPE ..> declaration, which may contain further declarations in brackets.
  void skip_declaration() {
    int depth = 0;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (is_quote(c)) {
        quote = c;
      } else if (c == '<') {
        ++depth;
      } else if (c == '>' && --depth == 0) {
        ++at_;
        return;
      }
    }
  }
  Tag read_tag() {
    Tag tag;
    tag.begin = at_;
    char quote = 0;
    std::size_t end = at_ + 1;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (is_quote(c)) {
        quote = c;
      } else if (c == '>') {
        break;
      }
    }
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    tag.is_empty = content.ends_with('/');
    tag.name = content.substr(0, content.find_first_of(" \t\r\n/", 1));
    tag.end = at_ = std::min(end + 1, text_.size());
    return tag;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Finds the position of an attribute's value in the text; none if the tag does not have the
// attribute.
std::optional<PropertyRange> find_attribute(std::string_view text, const Tag& tag,
                                            std::string_view name) {
  std::size_t at = tag.begin + 1 + tag.name.size();
  while (true) {
    at = text.find_first_not_of(xml_blanks, at);
    if (at >= tag.end || text[at] == '/' || text[at] == '>') return std::nullopt;
    const std::size_t name_end = text.find_first_of(" \t\r\n=", at);
    const std::size_t open = text.find_first_of("\"'", name_end);
    if (open >= tag.end) return std::nullopt;
    const std::size_t close = text.find(text[open], open + 1);
    if (text.substr(at, name_end - at) == name)
      return PropertyRange{{}, open + 1, close, tag.begin, tag.end};
    at = close + 1;
  }
}

// Returns the indentation of a position: the blanks before it on its line; empty if anything else
// precedes it.
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

ZoneRange find_outermost_zone(std::string_view text) {
  TagIterator tags(text);
  std::optional<Tag> tag = tags.next();
  if (tag && tag->name == "platform" && !tag->is_empty) tag = tags.next();
  if (!tag || tag->name.starts_with('/') || tag->name == "platform")
    throw cluster::Error("the platform file has no <zone> to hold the fitted numbers");
  ZoneRange zone{std::string(tag->name), tag->begin, tag->end, tag->is_empty, {}};
  if (zone.is_empty) return zone;
  while ((tag = tags.next()) && (tag->name == "prop" || tag->name == "/prop")) {
    const auto id = find_attribute(text, *tag, "id");
    auto value = find_attribute(text, *tag, "value");
    if (tag->name == "/prop" && !zone.properties.empty()) zone.properties.back().end = tag->end;
    if (!id || !value) continue;
    value->id = text.substr(id->value_begin, id->value_end - id->value_begin);
    zone.properties.push_back(*value);
  }
  return zone;
}

std::string escape_attribute(std::string_view text) {
  std::string escaped;
  for (const char c : analysis::drawable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string escape_comment(std::string_view text) {
  std::string escaped;
  for (const char c : analysis::drawable(text)) {
    if (c == '-' && escaped.ends_with('-')) escaped += ' ';
    escaped += c;
  }
  if (escaped.ends_with('-')) escaped += ' ';
  return escaped;
}

std::string with_properties(const std::string& text, const Properties& properties,
                            std::span<const std::string> comment) {
  const ZoneRange zone = find_outermost_zone(text);
  const std::string end_of_line = text.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  const std::string outer = indentation(text, zone.begin);
  const std::string inner = end_of_line + outer + "  ";

  // replacements of the text, keyed by begin: (end, new text)
  std::map<std::size_t, std::pair<std::size_t, std::string>> edits;
  std::string added = comment.empty() ? "" : inner + "<!--";
  for (const std::string& line : comment) added += inner + escape_comment(line);
  if (!comment.empty()) added += inner + "-->";
  for (const auto& [id, value] : properties) {
    bool exists = false;
    for (const PropertyRange& property : zone.properties)
      if (property.id == id) {
        edits[property.value_begin] = {property.value_end, escape_attribute(value)};
        exists = true;
      }
    if (!exists)
      added += fmt::format("{}<prop id=\"{}\" value=\"{}\"/>", inner, escape_attribute(id),
                           escape_attribute(value));
  }
  if (zone.is_empty)  // replaces <zone/> with <zone></zone>
    edits[zone.content_begin - 2] = {
        zone.content_begin, fmt::format(">{}{}{}</{}>", added, end_of_line, outer, zone.name)};
  else
    edits[zone.content_begin] = {zone.content_begin, added};

  std::string edited;
  std::size_t at = 0;
  for (const auto& [from, edit] : edits) {
    edited.append(text, at, from - at);
    edited += edit.second;
    at = edit.first;
  }
  return edited.append(text, at);
}

std::string with_records(const std::string& text, std::span<const cluster::Record> records) {
  std::string stripped = text;
  const ZoneRange zone = find_outermost_zone(text);
  for (const PropertyRange& property : std::views::reverse(zone.properties)) {
    if (!property.id.starts_with("record.")) continue;
    // Removes the whole line if nothing else is on it besides the removed property.
    const std::size_t previous = stripped.find_last_not_of(" \t", property.begin - 1);
    const bool is_first = previous != std::string::npos && stripped[previous] == '\n';
    const std::size_t from =
        is_first ? previous - (previous > 0 && stripped[previous - 1] == '\r' ? 1 : 0)
                 : property.begin;
    stripped.erase(from, property.end - from);
  }
  Properties properties;
  for (const cluster::Record& record : records)
    properties.emplace_back(fmt::format("record.{}", properties.size() + 1), to_string(record));
  return properties.empty() ? stripped : with_properties(stripped, properties, {});
}

std::string fitted_platform(const std::string& text, const analysis::FitReport& report,
                            const std::string& made_by) {
  Properties properties;
  for (const analysis::FittedParameter& parameter : report.fitted)
    properties.emplace_back(parameter.name, value_text(parameter.value, parameter.unit));
  if (report.keeps_expectations) {
    const ZoneRange zone = find_outermost_zone(text);
    for (const analysis::FittedParameter& parameter : report.fitted) {
      const std::string id = "expected." + parameter.name;
      const auto has_id = [&](const PropertyRange& property) { return property.id == id; };
      if (std::ranges::none_of(zone.properties, has_id))
        properties.emplace_back(id, value_text(parameter.before, parameter.unit));
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
        fmt::format("Errors on {} held-out rows: {}.", held_out.rows, errors_text(held_out)));
  for (const analysis::FittedParameter& parameter : report.fitted)
    comment.push_back(fmt::format("{}: {} before, {} now, {} with 68 %", parameter.name,
                                  analysis::parameter_text(parameter.before, parameter.unit),
                                  analysis::parameter_text(parameter.value, parameter.unit),
                                  analysis::interval_text(parameter)));
  return with_properties(text, properties, comment);
}

}  // namespace pipewright::comm
