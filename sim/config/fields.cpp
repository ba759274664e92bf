#include "sim/config/fields.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/units.hpp"

namespace pipewright::config {
namespace {

// Steps from one text to the other: change, add, drop or swap a character (Damerau 1964, with
// neighbours swapped once at most). Case, '-' and '_' make no difference.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = plain(a[i - 1]) == plain(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) &&
                           plain(a[i - 2]) == plain(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

const std::string& number_text(const Field& field, std::string_view allowed) {
  if (field.value.kind != Value::Kind::text) throw wrong(field, allowed);
  return field.value.text;
}

}  // namespace

std::string subject(const Field& field) { return locate(field.value.origin, field.name); }

Error wrong(const Field& field, std::string_view allowed) {
  return Error(
      fmt::format("{} is {}; allowed: {}", subject(field), describe(field.value), allowed));
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
  const std::string& text = number_text(field, allowed);
  std::uint32_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, count);
  if (code != std::errc{} || rest != end || count < 1 || count > largest)
    throw wrong(field, allowed);
  return count;
}

std::size_t read_choice(const Field& field, std::span<const std::string_view> choices) {
  const std::string allowed = fmt::format("one of {}", fmt::join(choices, ", "));
  const std::string& text = read_text(field, allowed);
  const auto place = std::ranges::find(choices, text);
  if (place == choices.end())
    throw Error(fmt::format("{} is {}{}allowed: {}", subject(field), describe(field.value),
                            did_you_mean(text, choices), allowed));
  return static_cast<std::size_t>(place - choices.begin());
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
  double number = 1;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code == std::errc{} && rest == end && number == 0) return 0;
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

std::string did_you_mean(std::string_view text, std::span<const std::string_view> names) {
  constexpr std::size_t longest = 100;  // the distance costs length times length
  if (text.size() > longest) return "; ";
  // What goes on after all of the text is nearer than what differs from it: h100 is h100-sxm.
  if (text.size() >= 3)
    for (const std::string_view name : names)
      if (name.size() > text.size() && edit_distance(text, name.substr(0, text.size())) == 0)
        return fmt::format("; did you mean {}? ", in_quotes(name));
  std::size_t nearest = 1 + std::min<std::size_t>(3, text.size() / 3);
  std::string_view best;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(text, name);
    if (distance >= nearest) continue;
    nearest = distance;
    best = name;
  }
  return best.empty() ? "; " : fmt::format("; did you mean {}? ", in_quotes(best));
}

}  // namespace pipewright::config
