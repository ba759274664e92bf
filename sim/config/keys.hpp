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

// Maps are read by tables: one row a key. From the rows come the reading, the list of allowed keys,
// the message for a missing one, the options of the command line, what `auto` and constraints of a
// search know, the help and docs/scenario.md.
namespace pipewright::config {

struct KeyInfo {
  std::string_view name;
  std::string_view alias = {};          // another name that means the same; may be empty
  std::string_view flag = {};           // of the command line, "-s/--num-stages"; may be empty
  std::string_view help = {};           // one line: what it is
  std::string_view unit = {};           // of a number, "samples"; times and sizes have their own
  std::string_view default_value = {};  // what holds where it is left out, as written; may be empty
  bool required = false;
};

enum class ValueType : std::uint8_t {
  text,
  flag,     // true or false
  choice,   // one of few names
  count,    // a whole number
  number,   // any other, parts in percent among them
  time,     // "18 ms"
  size,     // "24 MiB"
  rate,     // "450 GB/s", "312 TFLOP/s"
  path,     // of a file
  map,      // of keys of its own
  library,  // a name in a folder of platforms/, a file, or for some a map
  schedule,
};

struct KeyRow;

// What may stand under a key.
struct ValueInfo {
  ValueType type = ValueType::text;
  bool list = false;  // a list of them is a value as well
  std::span<const std::string_view> choices = {};
  std::vector<KeyRow> (*keys)() = nullptr;  // of a map
};

// A row without what reads it. The name is dotted within a section, "parallel.tp".
struct KeyRow {
  std::string name;
  KeyInfo info;
  ValueInfo value;
};

template <class Target>
struct Reader {
  template <std::convertible_to<void (*)(const Field&, Target&)> Read>
  constexpr Reader(Read reads, ValueInfo reads_a = {}) : read(reads), value(reads_a) {}

  void (*read)(const Field&, Target&);
  ValueInfo value;
};

template <class Target>
struct Key {
  KeyInfo info;
  Reader<Target> reader;
};

// "gpt.yaml: forward_times is missing; ...", for a key that only others make needless.
Error missing(const Field& map, const KeyInfo& key);

// The entry of `map` that belongs to each key, or null. Errors: an unknown key, a key that is
// given by both its names, a required one that is missing, and a value that is no map.
std::vector<const Entry*> match_keys(const Field& map, std::span<const KeyInfo> keys);

// What --help says of a key: "point to point: eager, rendezvous or blocking (eager)".
std::string help_line(const KeyRow& row);

// The rows under `prefix`, each followed by those of its own map.
std::vector<KeyRow> with_inner_rows(std::vector<KeyRow> rows);

template <class Table>
std::vector<KeyRow> rows_of(const Table& table) {
  std::vector<KeyRow> rows;
  for (const auto& key : table)
    rows.push_back({std::string(key.info.name), key.info, key.reader.value});
  return with_inner_rows(std::move(rows));
}

// Reads a map into `target`, in the order of the table. `map.name` is empty for the scenario
// itself and else stands before the names of keys, "activation.per_microbatch".
// What goes wrong there is an Error at that key.
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

// Readers that bind a key to a member of what is read, and know the type of its value:
//   {{.name = "tp", .flag = "--tp", .help = "..."}, count<&Parallel::tp>}

// A text that a template can take.
template <std::size_t size>
struct Words {
  std::array<char, size> characters{};
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Words(const char (&text)[size]) { std::copy_n(text, size, characters.begin()); }
  constexpr std::string_view view() const { return {characters.data(), size - 1}; }
};

template <class Target, class Member>
Target target_of(Member Target::*);

template <class Place, class Value>
void put(Place& place, const Value& value, const Origin&) {
  place = static_cast<Place>(value);
}
template <class Held, class Value>
void put(Located<Held>& place, const Value& value, const Origin& origin) {
  place = {static_cast<Held>(value), origin};
}
template <class Held, class Value>
void put(std::optional<Held>& place, const Value& value, const Origin& origin) {
  Held held{};  // not emplace(): for clang a nested struct cannot be made there
  put(held, value, origin);
  place = std::move(held);
}

// The member becomes what `read`, which takes a Field, returns.
template <auto member, auto read>
constexpr auto into(ValueInfo value) {
  using Target = decltype(target_of(member));
  return Reader<Target>{[](const Field& field, Target& target) {
                          put(target.*member, read(field), field.value.origin);
                        },
                        value};
}

// The functions of fields.hpp with a word for their messages.
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

// An enumerator by its name, in their order.
template <auto member, const auto& names>
constexpr auto choice = into<member, choice_of<names>>({ValueType::choice, false, names, nullptr});

template <auto member, Words example = "8">
constexpr auto count = into<member, count_such_as<example>>({ValueType::count});

template <auto member, Words noun>
constexpr auto number = into<member, called<noun, read_positive_number>>({ValueType::number});

inline constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();

template <Words noun, Words allowed, std::uint64_t least, std::uint64_t most>
double number_within(const Field& field) {
  const Error refusal = wrong(field, allowed.view());
  double value = 0;
  try {
    value = read_positive_number(field, noun.view());
  } catch (const Error&) {
    throw refusal;
  }
  if (value < static_cast<double>(least) ||
      (most != unlimited && value > static_cast<double>(most)))
    throw refusal;
  return value;
}

// One from `least` to `most`, or what is `allowed`.
template <auto member, Words noun, Words allowed, std::uint64_t least, std::uint64_t most>
constexpr auto within =
    into<member, number_within<noun, allowed, least, most>>({ValueType::number});

template <auto member, Words noun>
constexpr auto part = into<member, called<noun, read_part>>({ValueType::number});

template <auto member, Words noun>
constexpr auto time = into<member, called<noun, read_time>>({ValueType::time});

template <auto member, Words noun>
constexpr auto times = into<member, called<noun, read_times>>({ValueType::time, true});

template <auto member, Words noun>
constexpr auto size = into<member, called<noun, read_size>>({ValueType::size});

template <auto member, Words allowed>
constexpr auto text = into<member, called<allowed, read_text>>({ValueType::text});

// A map with a table of its own, which `rows` lists.
template <auto member, auto read, auto rows>
constexpr auto section = into<member, read>({ValueType::map, false, {}, rows});

template <class Target, std::size_t size>
Target target_of(const std::array<Key<Target>, size>&);

// What a map says by a table that needs nothing else.
template <const auto& table>
auto read_map(const Field& field) {
  decltype(target_of(table)) target;
  read_keys<decltype(target)>(field, table, target);
  return target;
}

template <auto member, const auto& table>
constexpr auto map_of = section<member, read_map<table>, [] { return rows_of(table); }>;

}  // namespace pipewright::config
