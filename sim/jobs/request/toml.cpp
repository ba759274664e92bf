#include "sim/jobs/request/toml.hpp"

#include <filesystem>

#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "sim/config/text/plain_text.hpp"

namespace pipewright::jobs {
namespace {

config::Origin origin_of(const toml::source_region& region, const Source& source) {
  return {.source = source.name,
          .line = static_cast<int>(region.begin.line),
          .column = static_cast<int>(region.begin.column),
          .folder = std::filesystem::path(source.name).parent_path().string()};
}

std::string text_of(const toml::node& node) {
  if (const auto* const text = node.as_string()) return text->get();
  if (const auto* const flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* const whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* const real = node.as_floating_point()) return fmt::format("{}", real->get());
  return "";
}

void flatten_table(const toml::table& table, const std::string& path, const Source& source,
                   std::vector<Setting>& settings) {
  for (const auto& [key, node] : table) {
    const std::string name =
        path.empty() ? std::string(key.str()) : fmt::format("{}.{}", path, key.str());
    if (const toml::table* const inner = node.as_table()) {
      flatten_table(*inner, name, source, settings);
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
