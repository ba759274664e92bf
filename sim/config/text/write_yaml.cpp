#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"

namespace pipewright::config {
namespace {

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Returns whether YAML needs no quotes around a text, in any context and for any reader: numbers
// with units, names, paths. In doubt the answer is no, since quotes do no harm.
bool is_plain(std::string_view text) {
  constexpr std::array nulls{"null", "Null", "NULL"};
  if (text.empty() || text.back() == ' ' || (!is_alnum(text.front()) && text.front() != '/'))
    return false;
  if (std::ranges::find(nulls, text) != nulls.end()) return false;
  return std::ranges::all_of(text, [](char c) {
    return is_alnum(c) || std::string_view("_./%+- ").find(c) != std::string_view::npos ||
           static_cast<std::uint8_t>(c) == 0xc2 || static_cast<std::uint8_t>(c) == 0xb5;  // µ
  });
}

std::string scalar(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return result + '"';
}

// Writes a value on one line, in YAML's flow style: "[{name: gpipe}, {name: 1f1b}]".
void write_flow(const Value& value, std::string& out) {
  const auto join = [&](const auto& elements, char open, char close, const auto& write) {
    out += open;
    bool first = true;
    for (const auto& element : elements) {
      if (!first) out += ", ";
      first = false;
      write(element);
    }
    out += close;
  };
  switch (value.kind) {
    case Value::Kind::text:
      out += scalar(value.text);
      break;
    case Value::Kind::list:
      join(value.items, '[', ']', [&](const Value& item) { write_flow(item, out); });
      break;
    case Value::Kind::map:
      join(value.entries, '{', '}', [&](const Entry& entry) {
        out += scalar(entry.key) + ": ";
        write_flow(entry.value, out);
      });
      break;
  }
}

void write_block(const Value& map, std::size_t indent, std::string& out) {
  for (const Entry& entry : map.entries) {
    out.append(indent, ' ');
    out += scalar(entry.key) + ":";
    if (entry.value.kind == Value::Kind::map && !entry.value.entries.empty()) {
      out += '\n';
      write_block(entry.value, indent + 2, out);
    } else {
      out += ' ';
      write_flow(entry.value, out);
      out += '\n';
    }
  }
}

}  // namespace

// Writes a tree as YAML: nested maps as blocks, lists on one line.
std::string to_yaml(const Value& value) {
  std::string out;
  if (value.kind == Value::Kind::map && !value.entries.empty()) {
    write_block(value, 0, out);
  } else {
    write_flow(value, out);
    out += '\n';
  }
  return out;
}

}  // namespace pipewright::config
