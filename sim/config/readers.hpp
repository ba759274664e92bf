#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"

// Readers that bind a key to a member of what is read, and know the type of its value:
//   {{.name = "tp", .flag = "--tp", .help = "..."}, count<&Parallel::tp>}
namespace pipewright::config {

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
  put(place.emplace(), value, origin);
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

}  // namespace pipewright::config
