#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/text/fields.hpp"

// Tables of the keys that a map may have, one row per key. The rows determine how a map is read,
// which keys are allowed, the error for a missing key, the options of the command line, the
// parameters of a search, help texts and docs/scenario.md.
namespace pipewright::config {

struct KeyInfo {
  std::string_view name;
  std::string_view alias = {};          // second name; may be empty
  std::string_view flag = {};           // command-line option, "-s/--num-stages"; may be empty
  std::string_view help = {};           // one line: a noun phrase, or an imperative for a flag
  std::string_view unit = {};           // unit of a plain number, "samples"
  std::string_view default_value = {};  // as the user would write it; may be empty
  bool required = false;
};

enum class ValueType : std::uint8_t {
  text,
  flag,     // true or false
  choice,   // one of a list of names
  count,    // a whole number
  number,   // any other number, such as a part in percent
  time,     // "18 ms"
  size,     // "24 MiB"
  rate,     // "450 GB/s", "312 TFLOP/s"
  path,     // path of a file
  map,      // a map with a table of its own
  library,  // a name in a folder of platforms/, a file, or for some keys a map
  schedule,
};

struct KeyRow;

// Type and choices of the values that a key accepts.
struct ValueInfo {
  ValueType type = ValueType::text;
  bool list = false;  // a list of such values is accepted too
  std::span<const std::string_view> choices = {};
  std::vector<KeyRow> (*keys)() = nullptr;  // rows of a map
  // Names of the items of a list. Empty: `choices`.
  std::span<const std::string_view> list_choices = {};
};

// Description of a key, without the function that reads it. The name is dotted within a section,
// "parallel.tp".
struct KeyRow {
  std::string name;
  KeyInfo info;
  ValueInfo value;
};

template <class Target>
struct Reader {
  template <std::convertible_to<void (*)(const Field&, Target&)> Read>
  constexpr Reader(Read reader, ValueInfo value_info = {}) : read(reader), value(value_info) {}

  void (*read)(const Field&, Target&);
  ValueInfo value;
};

template <class Target>
struct Key {
  KeyInfo info;
  Reader<Target> reader;
};

// Creates the error for a missing key: "gpt.yaml: forward_times is missing: ...". It is for keys
// that are required unless some other key is given.
Error missing(const Field& map, const KeyInfo& key);

// Finds the map's entry for each key of a table; null for keys that the map lacks. Throws an Error
// if the value is no map, and for an unknown key, a key that is given by both of its names, and a
// missing required key.
std::vector<const Entry*> match_keys(const Field& map, std::span<const KeyInfo> keys);

// Formats a key's line in --help, with its choices and default: "protocol: eager, rendezvous or
// blocking (eager)".
std::string help_line(const KeyRow& row);

// Inserts after each key that holds a map the keys of that map, under dotted names.
std::vector<KeyRow> with_inner_rows(std::vector<KeyRow> rows);

// Reads a list of names of keys. Every name must be that of a row. `allowed` describes the names in
// messages.
std::vector<std::string> read_key_names(const Field& field, std::span<const KeyRow> rows,
                                        std::string_view allowed);

template <class Table>
std::vector<KeyRow> rows_of(const Table& table) {
  std::vector<KeyRow> rows;
  for (const auto& key : table)
    rows.push_back({std::string(key.info.name), key.info, key.reader.value});
  return with_inner_rows(std::move(rows));
}

// Reads a map into `target`, in the order of the table. `map.name` is the prefix of the keys'
// dotted names, "activation" for "activation.per_microbatch", and empty for the scenario itself. An
// Error that a reader throws gets the location and the key of the entry, if it has none.
template <class Target>
void read_keys(const Field& map, std::span<const Key<Target>> keys, Target& target) {
  std::vector<KeyInfo> infos;
  infos.reserve(keys.size());
  for (const Key<Target>& key : keys) infos.push_back(key.info);
  const std::vector<const Entry*> entries = match_keys(map, infos);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (const Entry* const entry = entries[i]) {
      const Field field{entry->value, map.name.empty() ? entry->key : map.name + "." + entry->key};
      try {
        keys[i].reader.read(field, target);
      } catch (const Error& error) {
        throw error.at(entry->value.origin, field.name);
      }
    }
}

// Readers that store a value of a certain type in a member of the target:
//   {{.name = "tp", .flag = "--tp", .help = "..."}, count<&Parallel::tp>}

// A string literal that can be passed as a template argument.
template <std::size_t size>
struct Words {
  std::array<char, size> characters{};
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Words(const char (&text)[size]) { std::copy_n(text, size, characters.begin()); }
  constexpr std::string_view view() const { return {characters.data(), size - 1}; }
};

template <class Target, class Member>
Target target_of(Member Target::*);

template <class Member, class Value>
void put(Member& member, const Value& value, const Origin&) {
  member = static_cast<Member>(value);
}
template <class Held, class Value>
void put(Located<Held>& member, const Value& value, const Origin& origin) {
  member = {static_cast<Held>(value), origin};
}
template <class Held, class Value>
void put(std::optional<Held>& member, const Value& value, const Origin& origin) {
  Held held{};  // clang cannot emplace() a nested struct here
  put(held, value, origin);
  member = std::move(held);
}

// Makes a reader that stores the result of `read`, a function of a Field, in `member`.
template <auto member, auto read>
constexpr auto into(ValueInfo value) {
  using Target = decltype(target_of(member));
  return Reader<Target>{[](const Field& field, Target& target) {
                          put(target.*member, read(field), field.value.origin);
                        },
                        value};
}

// Readers of fields.hpp with fixed words for their error messages.
template <Words example>
std::uint32_t count_such_as(const Field& field) {
  return read_count(field, example.view());
}
template <const auto& names>
std::size_t choice_of(const Field& field) {
  return read_choice(field, names);
}
template <Words noun, auto read>
auto called(const Field& field) {
  return read(field, noun.view());
}

inline constexpr std::array<std::string_view, 2> flag_names{"false", "true"};

template <auto member>
constexpr auto flag = into<member, read_flag>({ValueType::flag, false, flag_names, nullptr});

// Reader of an enumeration value by its name; `names` has the order of the enumeration.
template <auto member, const auto& names>
constexpr auto choice = into<member, choice_of<names>>({ValueType::choice, false, names, nullptr});

template <auto member, Words example = "8">
constexpr auto count = into<member, count_such_as<example>>({ValueType::count});

template <auto member, Words noun>
constexpr auto number = into<member, called<noun, read_positive_number>>({ValueType::number});

inline constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();

template <Words noun, Words allowed, std::uint64_t lowest, std::uint64_t highest>
double number_within(const Field& field) {
  const Error refusal = wrong(field, allowed.view());
  double value = 0;
  try {
    value = read_positive_number(field, noun.view());
  } catch (const Error&) {
    throw refusal;
  }
  if (value < static_cast<double>(lowest) ||
      (highest != unlimited && value > static_cast<double>(highest)))
    throw refusal;
  return value;
}

// Reads 0 or a number up to `largest`.
template <Words noun, Words allowed, std::uint64_t largest>
double none_or_within(const Field& field) {
  const std::string& text = read_text(field, allowed.view());
  const bool is_zero = text.find_first_not_of("0.") == std::string::npos;
  return is_zero ? 0 : number_within<noun, allowed, 0, largest>(field);
}

// Reader of a number from `lowest` to `highest`; `allowed` describes the range in error messages.
template <auto member, Words noun, Words allowed, std::uint64_t lowest, std::uint64_t highest>
constexpr auto within =
    into<member, number_within<noun, allowed, lowest, highest>>({ValueType::number});

template <auto member, Words noun>
constexpr auto part = into<member, called<noun, read_part>>({ValueType::number});

template <auto member, Words noun>
constexpr auto time = into<member, called<noun, read_time>>({ValueType::time});

// Seconds of a kernel or its launch, and of a pass of kernels, within the limits of units.hpp.
template <auto member>
constexpr auto kernel_time =
    into<member, called<"an overhead", read_kernel_time>>({ValueType::time});
template <auto member>
constexpr auto pass_time = into<member, called<"an overhead", read_pass_time>>({ValueType::time});

template <auto member, Words noun>
constexpr auto times = into<member, called<noun, read_times>>({ValueType::time, true});

template <auto member, Words noun>
constexpr auto size = into<member, called<noun, read_size>>({ValueType::size});

template <auto member, Words allowed>
constexpr auto text = into<member, called<allowed, read_text>>({ValueType::text});

template <auto rows, Words allowed>
std::vector<std::string> key_names_of(const Field& field) {
  return read_key_names(field, rows(), allowed.view());
}

// Reader of a list of dotted keys; `rows` returns the rows of all keys that it may name.
template <auto member, auto rows, Words allowed>
constexpr auto key_names = into<member, key_names_of<rows, allowed>>({ValueType::text, true});

// Reader of a map with a table of its own; `rows` returns that table's rows, for help texts.
template <auto member, auto read, auto rows>
constexpr auto section = into<member, read>({ValueType::map, false, {}, rows});

template <class Target, std::size_t size>
Target target_of(const std::array<Key<Target>, size>&);

// Reads a map into a new object by its table, without further checks.
template <const auto& table>
auto read_map(const Field& field) {
  decltype(target_of(table)) target;
  read_keys<decltype(target)>(field, table, target);
  return target;
}

template <auto member, const auto& table>
constexpr auto map_of = section<member, read_map<table>, [] { return rows_of(table); }>;

}  // namespace pipewright::config
