#include "sim/jobs/request/toml.hpp"

#include <algorithm>
#include <filesystem>

#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "sim/config/text/plain_text.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::jobs {
namespace {

// Parts of a dotted key. The parser recurses into the table of each part, so that a long key in a
// few kilobytes would exhaust the stack.
constexpr int max_key_parts = 32;

config::Origin origin_of(const toml::source_region& region, const Source& source) {
  return {.source = source.name,
          .line = static_cast<int>(region.begin.line),
          .column = static_cast<int>(region.begin.column),
          .folder = std::filesystem::path(source.name).parent_path().string()};
}

std::string text_of(const toml::node& node);

// Items of a list within a list, joined by commas.
std::string text_of_list(const toml::array& list) {
  std::vector<std::string> items;
  for (const toml::node& item : list) items.push_back(text_of(item));
  return fmt::format("{}", fmt::join(items, ","));
}

std::string text_of(const toml::node& node) {
  if (const toml::array* const list = node.as_array()) return text_of_list(*list);
  if (const auto* const text = node.as_string()) return text->get();
  if (const auto* const flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* const whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* const real = node.as_floating_point()) return fmt::format("{}", real->get());
  return "";
}

// Length of the string of TOML, with its quotes, at the start of a text; of the text if it does not
// end.
std::size_t string_length(std::string_view text) {
  const std::string_view quote = text.substr(0, 1);
  const bool is_long = text.substr(1).starts_with(quote) && text.substr(2).starts_with(quote);
  const std::size_t width = is_long ? 3 : 1;
  for (std::size_t i = width; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == "\"") {
      ++i;
    } else if (!is_long && text[i] == '\n') {
      return i;
    } else if (text[i] == quote.front()) {
      if (!is_long) return i + 1;
      if (text.substr(i).starts_with(text.substr(0, width))) return i + width;
    }
  }
  return text.size();
}

// Throws config::Error if a key, or the name of a table, has too many parts.
void check_keys(const Source& source) {
  const std::string_view text = source.text;
  int parts = 1;
  int line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '"' || c == '\'') {
      const std::size_t length = string_length(text.substr(i));
      line += static_cast<int>(std::ranges::count(text.substr(i, length), '\n'));
      i += length - 1;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '.') {
      if (++parts > max_key_parts)
        throw config::Error({.source = source.name, .line = line, .column = 1},
                            "a key has too many parts")
            .allow(fmt::format("{} parts, as in a.b.c with 3", max_key_parts));
    } else if (std::string_view("=[]{},\n").find(c) != std::string_view::npos) {
      parts = 1;
    }
  }
}

void flatten_table(const toml::table& table, const std::string& path, const Source& source,
                   std::vector<Setting>& settings, int depth = 0) {
  if (depth > config::max_depth)
    throw config::Error(origin_of(table.source(), source), "tables are nested too deeply")
        .allow(fmt::format("{} levels", config::max_depth));
  for (const auto& [key, node] : table) {
    const std::string name =
        path.empty() ? std::string(key.str()) : fmt::format("{}.{}", path, key.str());
    if (const toml::table* const inner = node.as_table()) {
      flatten_table(*inner, name, source, settings, depth + 1);
      continue;
    }
    Setting setting{.name = name, .origin = origin_of(node.source(), source)};
    if (const toml::array* const list = node.as_array()) {
      for (const toml::node& item : *list) setting.values.push_back(text_of(item));
    } else {
      setting.values.push_back(text_of(node));
    }
    setting.written = fmt::format("{} = {}", name, fmt::join(setting.values, ", "));
    settings.push_back(std::move(setting));
  }
}

}  // namespace

std::vector<Setting> read_toml(const Source& source) {
  config::check_plain_text(source.text, {.source = source.name, .line = 1, .column = 1}, true,
                           "a configuration");
  check_keys(source);
  std::vector<Setting> settings;
  try {
    flatten_table(toml::parse(source.text), "", source, settings);
  } catch (const toml::parse_error& fault) {
    throw config::Error(
        config::locate(origin_of(fault.source(), source),
                       fmt::format("TOML syntax: {}", std::string_view(fault.description()))));
  }
  return settings;
}

std::string toml_string(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      literal += fmt::format("\\{}", c);
    else if (code < 0x20U || code == 0x7fU)
      literal += fmt::format("\\u{:04x}", code);
    else
      literal += c;
  }
  return literal + "\"";
}

}  // namespace pipewright::jobs
