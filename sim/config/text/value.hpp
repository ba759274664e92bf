#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Represents scenario files as trees of texts, lists and maps, before any key has a meaning. Every
// value records the place where it was written.
namespace pipewright::config {

// Place in a scenario where a value or key was written. In files, lines and columns count from 1;
// values from command lines and other programs have none.
struct Origin {
  std::string source;       // path of the file, or a text such as "--set schedule.chunks"
  int line = 0;             // 0: `source` alone is the place
  int column = 0;           // in bytes
  std::string folder = {};  // start of relative paths written here; empty: the current folder
  std::string key = {};     // dotted key of the scenario, "parallel.tp"; empty: unknown

  // Compares the places without `key`, which follows from them.
  bool operator==(const Origin& rhs) const;
};

// A message together with the place it is about; converts to "gpt.yaml:7:12: message".
struct LocatedMessage {
  Origin location;
  std::string message;

  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string() const;
};

// An error in the user's input, stored in parts. what() joins them for a terminal: "gpt.yaml:7:12:
// engine is simgird; did you mean 'simgrid'? allowed: one of simgrid, timing".
class Error : public std::runtime_error {
 public:
  // `found` says what is wrong, as a clause that usually begins with the key.
  explicit Error(std::string_view found);
  Error(const Origin& location, std::string_view found, std::string_view key = {});
  explicit Error(const LocatedMessage& found);

  // Adds what is allowed: "a whole number from 1 to 8".
  Error& allow(std::string_view allowed);
  // Adds advice on how to correct the error, as an imperative: "leave out one of them".
  Error& suggest(std::string_view advice);
  // Adds the name that the user probably meant; an empty one is ignored.
  Error& suggest_name(std::string_view name);
  // Adds the command-line option that sets a missing key: "-s/--num-stages".
  Error& offer_option(std::string_view option);

  const Origin& location() const { return location_; }  // empty source: unknown
  const std::string& key() const;                       // dotted; may be empty
  const std::string& found() const { return found_; }
  const std::string& allowed() const { return allowed_; }
  const std::string& suggestion() const { return suggestion_; }  // advice, or a name
  bool suggests_name() const { return suggests_name_; }
  std::string message() const;  // the text without the location
  const char* what() const noexcept override { return text_.c_str(); }

  // Returns a copy that gets this location and this key if the error has none of its own.
  Error at(const Origin& location, std::string_view key) const;
  // Returns a copy whose message begins with "subject: " and whose place is `location`.
  Error within(const Origin& location, std::string_view subject) const;

 private:
  void update_text();

  Origin location_;
  std::string key_;
  std::string found_;
  std::string allowed_;
  std::string suggestion_;
  bool suggests_name_ = false;
  std::string option_;
  std::string text_;
};

// An entry of a map: a key and its value. It is a template so that Value can hold a vector of its
// own entries.
template <class Held>
struct EntryOf {
  std::string key;
  Origin origin;  // place of the key
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

// Returns the place of the value at a dotted path; if there is no such value, the place of the
// innermost existing map on the path.
const Origin& origin_of(const Value& root, std::string_view path);

// Formats a place: "gpt.yaml:7:12", "--set devices", or "" for an empty origin.
std::string to_string(const Origin& origin);

LocatedMessage locate(const Origin& origin, std::string_view message);

// Makes a user's text printable and cuts it after 60 bytes, for messages; in_quotes() adds quotes.
std::string shown(std::string_view text);
std::string in_quotes(std::string_view text);
// Describes a text for messages: a quantity as "-3 ms", anything else as "the text 'abc'".
std::string describe_text(std::string_view text);
// Describes a value for messages: a text as above, "a map", "an empty list", ...
std::string describe(const Value& value);

// Returns the name that is closest to a misspelt text; empty if none is close.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);

// Returns text that joins a fault to "allowed: ..." in messages that are not an Error: "; did you
// mean 'forward_times'? ", or "; " if no name is close.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> names);

}  // namespace pipewright::config
