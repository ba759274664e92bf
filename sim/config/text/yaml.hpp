#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/config/text/value.hpp"

namespace pipewright::config {

// Larger texts are refused. Three lists of 100,000 pass times fit, and the parser, which may need
// hundreds of bytes for one of text, stays within memory.
inline constexpr std::size_t max_bytes = 4U << 20U;

// What stands for null in a tree, where a document allows it.
inline constexpr std::string_view null_text = "null";

// What a text should be, for messages.
struct Document {
  std::string_view noun;
  std::string_view needs;    // its required keys
  std::string_view example;  // of a line
  // Of another program: what is null is the text "null", of a key given twice the last holds, and
  // tags mean nothing.
  bool foreign = false;
  bool has_scenario_keys = false;  // places get the dotted keys of a scenario
};
inline constexpr Document scenario_document{
    "a scenario", "microbatches, and a model or devices and forward_times", "devices: 8", false,
    true};
inline constexpr Document block_document{"a building block", "placement, interval and cells",
                                         "interval: 6"};

// Reads one document of YAML, and so of JSON. Anchors and aliases are resolved. Errors: anything
// but one document of plain UTF-8 text, the same key twice in a map, a key that is no text,
// nothing where a value should be (null), tags of one's own.
Value read_yaml_file(const std::string& path, const Document& what = scenario_document);

// `name` takes the file's place in messages; relative paths start from the current folder.
Value read_yaml_text(std::string_view text, const std::string& name,
                     const Document& what = scenario_document);

// A value from a command line: every place in it is `origin`.
Value read_yaml_value(std::string_view text, const Origin& origin);

// The canonical text of a tree; reading it gives the same tree.
std::string to_yaml(const Value& value);

}  // namespace pipewright::config
