#include "sim/config/text/fields.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/config/text/counts.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

const std::string& number_text(const Field& field, std::string_view allowed) {
  if (field.value.kind != Value::Kind::text) throw wrong(field, allowed);
  return field.value.text;
}

// Returns the key of a value that only a sweep has in place of a number; empty for other values.
std::string key_of_sweep(const Field& field) {
  const Value& value = field.value;
  const bool is_range = value.text.find("..") != std::string::npos;
  if (value.kind == Value::Kind::text && value.text != "auto" && !is_range) return "";
  if (value.kind == Value::Kind::map || value.origin.key.empty()) return "";
  return value.origin.key;
}

}  // namespace

Error wrong(const Field& field, std::string_view allowed) {
  return Error(field.value.origin, fmt::format("{} is {}", field.name, describe(field.value)),
               field.name)
      .allow(allowed);
}

std::vector<Field> items(const Field& field, std::string_view allowed) {
  const Value& value = field.value;
  if (value.kind != Value::Kind::list) return {field};
  if (value.items.empty()) throw wrong(field, allowed);
  std::vector<Field> fields;
  fields.reserve(value.items.size());
  for (const Value& item : value.items)
    fields.push_back({item, fmt::format("{}[{}]", field.name, fields.size())});
  return fields;
}

const std::string& read_text(const Field& field, std::string_view allowed) {
  if (field.value.kind != Value::Kind::text || field.value.text.empty())
    throw wrong(field, allowed);
  return field.value.text;
}

std::uint32_t read_count(const Field& field, std::string_view example) {
  constexpr std::uint32_t largest = 1U << 31U;
  const std::string allowed =
      fmt::format("a whole number from 1 to {}, such as {}", largest, example);
  if (const std::string key = key_of_sweep(field); !key.empty())
    throw Error(field.value.origin,
                fmt::format("{} is {}, so this is a sweep", key, describe(field.value)), field.name)
        .allow(allowed)
        .suggest("run it with 'pipewright search', or give one value");
  const std::string& text = number_text(field, allowed);
  const std::optional<std::uint64_t> count = scaled_count(text);
  if (!count || *count < 1 || *count > largest) throw wrong(field, allowed);
  return static_cast<std::uint32_t>(*count);
}

std::size_t read_choice(const Field& field, std::span<const std::string_view> choices) {
  const std::string allowed = fmt::format("one of {}", fmt::join(choices, ", "));
  const std::string& text = read_text(field, allowed);
  const auto it = std::ranges::find(choices, text);
  if (it == choices.end()) throw wrong(field, allowed).suggest_name(nearest_name(text, choices));
  return static_cast<std::size_t>(it - choices.begin());
}

bool read_flag(const Field& field) {
  constexpr std::array<std::string_view, 2> flags{"false", "true"};
  return read_choice(field, flags) == 1;
}

double read_time(const Field& field, std::string_view noun) {
  return parse_time(number_text(field, fmt::format("{}, such as 18.5 ms", noun)), subject(field),
                    noun);
}

std::vector<double> read_times(const Field& field, std::string_view noun) {
  const std::string allowed =
      fmt::format("{0}, or a list of them, such as 18.5 ms or [18.5 ms, 19 ms]", noun);
  if (field.value.kind == Value::Kind::map) throw wrong(field, allowed);
  std::vector<double> times;
  for (const Field& item : items(field, allowed)) times.push_back(read_time(item, noun));
  return times;
}

double read_kernel_time(const Field& field, std::string_view noun) {
  return parse_kernel_time(read_text(field, "a time such as 5 us"), subject(field), noun);
}

double read_pass_time(const Field& field, std::string_view noun) {
  return parse_pass_time(read_text(field, "a time such as 0.5 ms"), subject(field), noun);
}

std::uint64_t read_size(const Field& field, std::string_view noun) {
  return parse_size(number_text(field, fmt::format("{}, such as 24 MiB", noun)), subject(field),
                    noun);
}

double read_positive_number(const Field& field, std::string_view noun) {
  return parse_positive_number(number_text(field, fmt::format("{}, such as 3", noun)),
                               subject(field), noun);
}

double read_part(const Field& field, std::string_view noun) {
  const std::string& text = read_text(field, fmt::format("{}, such as 5 %", noun));
  if (text.ends_with('%')) return parse_share(text, subject(field), noun);
  if (base::parse_number<double>(text) == 0.0) return 0;
  const Error refusal =
      wrong(field, fmt::format("{}, from 0 to 1 or from 0 % to 100 %, such as 5 %", noun));
  double part = 0;
  try {
    part = parse_positive_number(text, subject(field), noun);
  } catch (const Error&) {
    throw refusal;
  }
  if (part > 1) throw refusal;
  return part;
}

}  // namespace pipewright::config
