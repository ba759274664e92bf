#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// What a scenario file says before anybody asks what it means: texts, lists and maps, each with
// the place it was written at.
namespace pipewright::config {

// Where something was written. A file has lines and columns from 1; a command line has none.
struct Origin {
  std::string source;       // the file's path, or a text such as "--set schedule.chunks"
  int line = 0;             // 0: `source` alone is the place
  int column = 0;           // in bytes
  std::string folder = {};  // relative paths written here start from it; empty: the current folder

  bool operator==(const Origin&) const = default;
};

// A fault in what the user wrote: "file:line:column: what was found; what is allowed". Its parts
// are for those who show them apart.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text) {}
  Error(const Origin& place, std::string_view message, std::string_view key = {});

  const Origin& place() const { return place_; }   // without a source: nowhere
  const std::string& key() const { return key_; }  // dotted; may be empty
  std::string remedy() const;                      // what is allowed; empty where it says none
  // The same of a place and a key where it knows none.
  Error at(const Origin& place, std::string_view key) const;

 private:
  Origin place_;
  std::string key_;
};

// A template only so that Value may hold a vector of what holds a Value.
template <class Held>
struct EntryOf {
  std::string key;
  Origin origin;  // of the key
  Held value;
};

struct Value {
  enum class Kind { text, list, map };

  Kind kind = Kind::map;
  Origin origin = {};
  std::string text = {};                     // of Kind::text; numbers are texts too
  std::vector<Value> items = {};             // of Kind::list
  std::vector<EntryOf<Value>> entries = {};  // of Kind::map, in the order written
};

using Entry = EntryOf<Value>;

// Maps and lists may stand this deep in one another, and a tree may hold this many values.
inline constexpr int max_depth = 64;
inline constexpr std::size_t max_values = 1'000'000;

Value make_text(std::string text, const Origin& origin);
Value make_list(const std::vector<std::string>& texts, const Origin& origin);

// Puts `value` at a dotted path such as "schedule.chunks", in place of what was there; maps on
// the way are made. A list is entered by index from 0, as in "schedule.0.chunks", and does not
// grow.
void set_value(Value& root, std::string_view path, Value value);

// The value under `key`, or null.
const Value* find(const Value& map, std::string_view key);
Value* find(Value& map, std::string_view key);

// Where the value at a dotted path was written; what is not there, where the deepest of the maps on
// the way was.
const Origin& origin_of(const Value& root, std::string_view path);

// "gpt.yaml:7:12", "--set devices", or "" where nothing was written.
std::string to_string(const Origin& origin);

// "gpt.yaml:7:12: message", or the message alone.
std::string locate(const Origin& origin, std::string_view message);

// As part of a message: printable and short; the same in quotes; "-3 ms" or "the text 'abc'"; and
// for any value "a map", "an empty list", ...
std::string shown(std::string_view text);
std::string in_quotes(std::string_view text);
std::string describe_text(std::string_view text);
std::string describe(const Value& value);

// What leads over to "allowed: ...": "; did you mean 'forward_times'? ", or "; " if none is near.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> names);

}  // namespace pipewright::config
