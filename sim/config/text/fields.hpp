#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/value.hpp"

namespace pipewright::config {

// A value that remembers where it was written, for those who can judge it only later.
template <class T>
struct Located {
  T value{};
  Origin origin;
};

// A value on its way to being understood, under the name that messages call it by, such as
// "activation.per_microbatch[2]".
struct Field {
  const Value& value;
  std::string name;
};

// "gpt.yaml:7:12: forward_times[2]"
std::string subject(const Field& field);

// "gpt.yaml:7:12: devices is a map; allowed: `allowed`".
Error wrong(const Field& field, std::string_view allowed);

// The fields of a list, or the field itself where one value stands for a list of one.
std::vector<Field> items(const Field& field, std::string_view allowed);

// A text that is not empty.
const std::string& read_text(const Field& field, std::string_view allowed);

// From 1 to 2^31.
std::uint32_t read_count(const Field& field, std::string_view example);

// One of `choices`, as its index.
std::size_t read_choice(const Field& field, std::span<const std::string_view> choices);

bool read_flag(const Field& field);  // true or false

// Seconds and bytes, one value or a list; `noun` says what one value is, "a pass time".
double read_time(const Field& field, std::string_view noun);
std::vector<double> read_times(const Field& field, std::string_view noun);
std::uint64_t read_size(const Field& field, std::string_view noun);

double read_positive_number(const Field& field, std::string_view noun);
double read_part(const Field& field, std::string_view noun);  // "5 %" or 0.05, at most all of it

}  // namespace pipewright::config
