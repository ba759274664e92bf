#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "sim/config/text/value.hpp"

namespace pipewright::config {

// A value with the location where the user wrote it, for error messages of later checks.
template <class T>
struct Located {
  T value{};
  Origin origin;
};

// A value that is being read, and its dotted key for messages, such as
// "activation.per_microbatch[2]".
struct Field {
  const Value& value;
  std::string name;
};

// Place and name of a quantity, for error messages about it.
struct Subject {
  Origin location = {};
  std::string name;

  // NOLINTNEXTLINE(google-explicit-constructor)
  Subject(const Field& field) : location(field.value.origin), name(field.name) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  template <std::convertible_to<std::string_view> Text>
  Subject(const Text& text) : name(std::string_view(text)) {}
};

inline Subject subject(const Field& field) { return field; }

}  // namespace pipewright::config
