#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/config/text/value.hpp"

namespace pipewright::config {

// Largest text that is accepted, in bytes. Three lists of 100,000 pass times fit into it, and the
// parser, which needs hundreds of bytes per byte of text, stays within memory.
inline constexpr std::size_t max_bytes = 4U << 20U;

// Text that stands for null in the trees of documents of other programs.
inline constexpr std::string_view null_text = "null";

// Kind of document that a text is expected to be, with words for error messages.
struct Document {
  std::string_view noun;
  std::string_view needs;    // required keys
  std::string_view example;  // a line
  // Set for documents that were written for another program: null becomes the text "null", the last
  // of several equal keys counts, and tags are ignored.
  bool is_foreign = false;
  bool has_scenario_keys = false;  // locations get the dotted keys of a scenario
};
inline constexpr Document scenario_document{
    "a scenario", "microbatches, and a model or devices and forward_times", "devices: 8", false,
    true};
inline constexpr Document block_document{"a building block", "placement, interval and cells",
                                         "interval: 6"};

// Reads a YAML or JSON file and resolves anchors and aliases. Throws an Error if it is not exactly
// one document of plain UTF-8 text, if a map has equal keys, if a key is no text, and for missing
// values (null) and custom tags.
Value read_yaml_file(const std::string& path, const Document& document = scenario_document);

// Reads YAML or JSON from a text, which messages call `name`; relative paths in it start from the
// current folder.
Value read_yaml_text(std::string_view text, const std::string& name,
                     const Document& document = scenario_document);

// Reads a value from a command line; everything in it gets the location `origin`.
Value read_yaml_value(std::string_view text, const Origin& origin);

// Writes a tree as YAML in its canonical form; reading it gives the same tree.
std::string to_yaml(const Value& value);

}  // namespace pipewright::config
