#include "sim/config/override.hpp"

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/config/error.hpp"

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
    throw Error(locate(origin, fmt::format("{} is an empty list; set the whole list", where)));
  if (!number || i >= list.items.size())
    throw Error(locate(origin, fmt::format("{} is a list and has no item {}; allowed: 0 to {}, "
                                           "such as {}.0",
                                           where, in_quotes(index), list.items.size() - 1, where)));
  return list.items[i];
}

Value& entry(Value& map, std::string_view key, const Origin& origin) {
  if (Value* const present = find(map, key)) return *present;
  Entry made{std::string(key), origin, {}};
  made.value.origin = origin;
  return map.entries.emplace_back(std::move(made)).value;
}

}  // namespace

void set_value(Value& root, std::string_view path, Value value) {
  const Origin origin = value.origin;
  const std::vector<std::string_view> parts = cut_at_dots(path);
  if (parts.size() > max_depth)
    throw Error(locate(origin, fmt::format("{} goes deeper than the {} levels allowed",
                                           in_quotes(path), max_depth)));
  for (const std::string_view part : parts)
    if (part.empty())
      throw Error(locate(origin, fmt::format("{} is no path; names joined by single dots are, "
                                             "such as schedule.chunks",
                                             in_quotes(path))));

  Value* place = &root;
  for (const std::string_view part : parts) {
    // What was walked so far, for messages.
    const auto length = static_cast<std::size_t>(part.data() - path.data());
    const std::string where = length == 0 ? "the scenario" : shown(path.substr(0, length - 1));
    if (place->kind == Value::Kind::text)
      throw Error(locate(origin, fmt::format("{} is {}, so {} cannot be set in it; set the whole "
                                             "of {}",
                                             where, describe(*place), in_quotes(part), where)));
    place = place->kind == Value::Kind::list ? &item(*place, part, where, origin)
                                             : &entry(*place, part, origin);
  }
  *place = std::move(value);
}

}  // namespace pipewright::config
