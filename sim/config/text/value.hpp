#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/error.hpp"

// Represents scenario files as trees of texts, lists and maps, before any key has a meaning. Every
// value records the location where it was written.
namespace pipewright::config {

// An entry of a map: a key and its value. It is a template so that Value can hold a vector of its
// own entries.
template <class Held>
struct EntryOf {
  std::string key;
  Origin origin;  // location of the key
  Held value;
};

struct Value {
  enum class Kind { text, list, map };

  Kind kind = Kind::map;
  Origin origin = {};
  std::string text = {};                     // used by Kind::text; numbers are texts too
  std::vector<Value> items = {};             // used by Kind::list
  std::vector<EntryOf<Value>> entries = {};  // used by Kind::map, in the order written
};

using Entry = EntryOf<Value>;

// Limits of a tree: the nesting depth and the number of values.
inline constexpr int max_depth = 64;
inline constexpr std::size_t max_values = 1'000'000;

Value make_text(std::string text, const Origin& origin);
Value make_list(const std::vector<std::string>& texts, const Origin& origin);

// Replaces the value at a dotted path such as "schedule.chunks" and adds missing maps on the path.
// Items of a list are addressed by an index from 0, as in "schedule.0.chunks"; the list does not
// grow.
void set_value(Value& root, std::string_view path, Value value);

// Sets Origin::key of a value and of all values within it. `path` is the dotted key of `value`,
// empty for a whole scenario; items of a list have the key of the list.
void set_origin_keys(Value& value, std::string_view path);

// Returns the value of a map's key, or null.
const Value* find(const Value& map, std::string_view key);
Value* find(Value& map, std::string_view key);

// Returns the value at a dotted path through maps, "host.kernel", or null.
const Value* value_at(const Value& root, std::string_view path);

// Returns the texts of a value and of all values within it by their dotted keys. `path` is the key
// of `value`. A list of texts is one text, "norm, rope", or "[]" if it is empty. Items of other
// lists have their index as a key, "variation.stragglers.0.device".
std::map<std::string, std::string> texts_by_key(const Value& value, const std::string& path);

// Returns the location of the value at a dotted path; if there is no such value, that of the
// innermost existing map on the path.
const Origin& origin_of(const Value& root, std::string_view path);

// Describes a text for messages: a quantity as "-3 ms", anything else as "the text 'abc'".
std::string describe_text(std::string_view text);
// Describes a value for messages: a text as above, "a map", "an empty list", ...
std::string describe(const Value& value);

// Returns the name that is closest to a misspelt text; empty if none is close.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);

}  // namespace pipewright::config
