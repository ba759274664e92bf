#include "sim/config/text/value.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

std::vector<std::string_view> cut_at_dots(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t dot = std::min(path.find('.', start), path.size());
    parts.push_back(path.substr(start, dot - start));
    start = dot + 1;
  }
  return parts;
}

Value& item(Value& list, std::string_view index, std::string_view where, const Origin& origin) {
  std::size_t i = 0;
  const char* const end = index.data() + index.size();
  const auto [rest, code] = std::from_chars(index.data(), end, i);
  const bool number = code == std::errc{} && rest == end;
  if (list.items.empty())
    throw Error(origin, fmt::format("{} is an empty list; set the whole list", where));
  if (!number || i >= list.items.size())
    throw Error(origin, fmt::format("{} is a list and has no item {}; allowed: 0 to {}, "
                                    "such as {}.0",
                                    where, in_quotes(index), list.items.size() - 1, where));
  return list.items[i];
}

Value& entry(Value& map, std::string_view key, const Origin& origin) {
  if (Value* const present = find(map, key)) return *present;
  Entry made{std::string(key), origin, {}};
  made.value.origin = origin;
  return map.entries.emplace_back(std::move(made)).value;
}

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

}  // namespace

Value make_text(std::string text, const Origin& origin) {
  Value value;
  value.kind = Value::Kind::text;
  value.origin = origin;
  value.text = std::move(text);
  return value;
}

Value make_list(const std::vector<std::string>& texts, const Origin& origin) {
  Value value;
  value.kind = Value::Kind::list;
  value.origin = origin;
  for (const std::string& text : texts) value.items.push_back(make_text(text, origin));
  return value;
}

void set_value(Value& root, std::string_view path, Value value) {
  const Origin origin = value.origin;
  const std::vector<std::string_view> parts = cut_at_dots(path);
  if (parts.size() > max_depth)
    throw Error(origin, fmt::format("{} goes deeper than the {} levels allowed", in_quotes(path),
                                    max_depth));
  for (const std::string_view part : parts)
    if (part.empty())
      throw Error(origin, fmt::format("{} is no path; names joined by single dots are, "
                                      "such as schedule.chunks",
                                      in_quotes(path)));

  Value* place = &root;
  for (const std::string_view part : parts) {
    // What was walked so far, for messages.
    const auto length = static_cast<std::size_t>(part.data() - path.data());
    const std::string where = length == 0 ? "the scenario" : shown(path.substr(0, length - 1));
    if (place->kind == Value::Kind::text)
      throw Error(origin, fmt::format("{} is {}, so {} cannot be set in it; set the whole "
                                      "of {}",
                                      where, describe(*place), in_quotes(part), where));
    place = place->kind == Value::Kind::list ? &item(*place, part, where, origin)
                                             : &entry(*place, part, origin);
  }
  *place = std::move(value);
}

const Value* find(const Value& map, std::string_view key) {
  const auto place = std::ranges::find(map.entries, key, &Entry::key);
  return place == map.entries.end() ? nullptr : &place->value;
}

Value* find(Value& map, std::string_view key) {
  return const_cast<Value*>(find(std::as_const(map), key));
}

const Origin& origin_of(const Value& root, std::string_view path) {
  const Value* at = &root;
  for (const std::string_view key : cut_at_dots(path)) {
    const Value* const next = find(*at, key);
    if (next == nullptr) break;
    at = next;
  }
  return at->origin;
}

Error::Error(const Origin& place, std::string_view message, std::string_view key)
    : std::runtime_error(locate(place, message)), place_(place), key_(key) {}

std::string Error::remedy() const {
  const std::string_view text = what();
  constexpr std::string_view allowed = "allowed: ";
  if (const std::size_t found = text.find(allowed); found != std::string_view::npos)
    return std::string(text.substr(found + allowed.size()));
  const std::size_t end = text.rfind("; ");
  return end == std::string_view::npos ? "" : std::string(text.substr(end + 2));
}

Error Error::at(const Origin& place, std::string_view key) const {
  Error error = *this;
  if (error.place_.source.empty()) error.place_ = place;
  if (error.key_.empty()) error.key_ = key;
  return error;
}

std::string to_string(const Origin& origin) {
  if (origin.line == 0) return origin.source;
  return fmt::format("{}:{}:{}", origin.source, origin.line, origin.column);
}

std::string locate(const Origin& origin, std::string_view message) {
  const std::string place = to_string(origin);
  return place.empty() ? std::string(message) : fmt::format("{}: {}", place, message);
}

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::size_t length = text.size();
  if (length > longest) {
    length = longest;
    const auto inside_character = [&] {
      return (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80U;
    };
    while (length > 0 && inside_character()) --length;
  }
  std::string result;
  for (const char c : text.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return length < text.size() ? result + "..." : result;
}

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", shown(text)); }

std::string describe_text(std::string_view text) {
  if (text.empty()) return "an empty text";
  const bool numeric =
      std::string_view("0123456789+-.").find(text.front()) != std::string_view::npos;
  return numeric ? shown(text) : fmt::format("the text {}", in_quotes(text));
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::text:
      return describe_text(value.text);
    case Value::Kind::list:
      return value.items.empty() ? "an empty list" : "a list";
    case Value::Kind::map:
      return value.entries.empty() ? "an empty map" : "a map";
  }
  return {};
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
