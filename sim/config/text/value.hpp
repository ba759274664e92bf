#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Scenario files as trees of texts, lists and maps, before any key has a meaning. Every value knows
// the place where it was written.
namespace pipewright::config {

// Place in a scenario where a value or key was written. Files have lines and columns from 1;
// command lines and other programs have none.
struct Origin {
  std::string source;       // path of the file, or a text such as "--set schedule.chunks"
  int line = 0;             // 0: `source` alone is the place
  int column = 0;           // in bytes
  std::string folder = {};  // start of relative paths written here; empty: the current folder
  std::string key = {};     // dotted key of the scenario, "parallel.tp"; empty: unknown

  // Compares the places; `key` follows from them.
  bool operator==(const Origin& rhs) const;
};

// A message together with the place it is about; converts to "gpt.yaml:7:12: message".
struct LocatedMessage {
  Origin location;
  std::string message;

  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string() const;
};

// A fault in the user's input, kept in parts. what() is the text for a terminal:
// "gpt.yaml:7:12: engine is simgird; did you mean 'simgrid'? allowed: one of simgrid, timing".
class Error : public std::runtime_error {
 public:
  // `found` says what is wrong, in a clause that mostly begins with the key.
  explicit Error(std::string_view found);
  Error(const Origin& location, std::string_view found, std::string_view key = {});
  explicit Error(const LocatedMessage& found);

  // Values that are allowed: "a whole number from 1 to 8".
  Error& allow(std::string_view allowed);
  // What to do about the fault, an imperative: "leave out one of them".
  Error& suggest(std::string_view advice);
  // Name that the user probably meant; an empty one is ignored.
  Error& suggest_name(std::string_view name);
  // Command-line option that sets a missing key: "-s/--num-stages".
  Error& offer_option(std::string_view option);

  const Origin& location() const { return location_; }  // empty source: unknown
  const std::string& key() const;                       // dotted; may be empty
  const std::string& found() const { return found_; }
  const std::string& allowed() const { return allowed_; }
  const std::string& suggestion() const { return suggestion_; }  // advice, or a name
  bool suggests_name() const { return suggests_name_; }
  std::string message() const;  // the text without the location
  const char* what() const noexcept override { return text_.c_str(); }

  // A copy that has this location and key where the error has none of its own.
  Error at(const Origin& location, std::string_view key) const;
  // A copy whose message begins with "subject: ", at `location`.
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

// Key and value of a map. It is a template so that Value can hold a vector of its own entries.
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

// Largest nesting depth of a tree, and its largest number of values.
inline constexpr int max_depth = 64;
inline constexpr std::size_t max_values = 1'000'000;

Value make_text(std::string text, const Origin& origin);
Value make_list(const std::vector<std::string>& texts, const Origin& origin);

// Replaces the value at a dotted path such as "schedule.chunks" and makes missing maps on the way.
// A list is entered by an index from 0, as in "schedule.0.chunks", and does not grow.
void set_value(Value& root, std::string_view path, Value value);

// Sets Origin::key of a value and of everything in it. `path` is the dotted key of `value`, empty
// for a whole scenario; items of a list have the key of the list.
void set_origin_keys(Value& value, std::string_view path);

// Value under `key` of a map, or null.
const Value* find(const Value& map, std::string_view key);
Value* find(Value& map, std::string_view key);

// Place of the value at a dotted path; if there is no such value, the place of the innermost map on
// the way that exists.
const Origin& origin_of(const Value& root, std::string_view path);

// "gpt.yaml:7:12", "--set devices", or "" for an empty origin.
std::string to_string(const Origin& origin);

LocatedMessage locate(const Origin& origin, std::string_view message);

// A user's text as it appears in messages: printable, and cut after 60 bytes.
std::string shown(std::string_view text);
std::string in_quotes(std::string_view text);
// "-3 ms" or "the text 'abc'".
std::string describe_text(std::string_view text);
// A text as above, "a map", "an empty list", ...
std::string describe(const Value& value);

// Name that is closest to a misspelt text; empty if none is close.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);

// Link between a fault and its "allowed: ..." in texts that are no Error: "; did you mean
// 'forward_times'? ", or "; " if no name is close.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> names);

}  // namespace pipewright::config
