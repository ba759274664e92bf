#include "sim/jobs/python/methods.hpp"

#include <algorithm>
#include <cctype>

#include "sim/base/letters.hpp"
#include "sim/jobs/python/operators.hpp"

namespace pipewright::jobs::python {
namespace {

using Values = std::vector<Value>;

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string stripped(const std::string& text, std::string_view characters) {
  const std::size_t begin = text.find_first_not_of(characters);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(characters) - begin + 1);
}

Value split(const std::string& text, const std::optional<std::string>& separator) {
  constexpr std::string_view blanks = " \t\n\r";
  Values parts;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = separator && !separator->empty() ? text.find(*separator, at)
                                                             : text.find_first_of(blanks, at);
    const std::string part = text.substr(at, end - at);
    if (separator || !part.empty()) parts.emplace_back(part);
    if (end == std::string::npos) break;
    at = end + (separator ? separator->size() : 1);
  }
  return make_list(std::move(parts));
}

// Splits a text at the last separators, at most `count` times.
Value split_from_end(std::string text, const std::string& separator, std::int64_t count) {
  Values parts;
  for (std::size_t at = text.rfind(separator); at != std::string::npos && count-- > 0;
       at = text.rfind(separator)) {
    parts.insert(parts.begin(), text.substr(at + separator.size()));
    text.resize(at);
  }
  parts.insert(parts.begin(), text);
  return make_list(std::move(parts));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  for (std::size_t at = text.find(from); at != std::string::npos && text.size() < max_items;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Returns whether a text begins, or ends, with an argument or with one of a tuple of texts.
std::optional<Value> has_affix(const std::string& text, const Value& affix, bool at_begin) {
  Values affixes{affix};
  if (const auto* const list = std::get_if<std::shared_ptr<List>>(&affix)) affixes = (*list)->items;
  bool has = false;
  for (const Value& each : affixes) {
    const auto* const part = std::get_if<std::string>(&each);
    if (part == nullptr) return std::nullopt;
    has = has || (at_begin ? text.starts_with(*part) : text.ends_with(*part));
  }
  return Value(has);
}

std::optional<Value> text_method(const std::string& text, std::string_view name,
                                 const Arguments& arguments) {
  constexpr std::string_view blanks = " \t\n\r";
  if (name == "lower" || name == "casefold") return Value(base::lowercase(text));
  if (name == "upper") return Value(upper(text));
  if (name == "strip")
    return Value(stripped(text, arguments.text_at(0).value_or(std::string(blanks))));
  if (name == "split" && arguments.values.size() < 2) return split(text, arguments.text_at(0));
  if (name == "rsplit" && arguments.values.size() == 2) {
    const std::optional<std::string> separator = arguments.text_at(0);
    const std::optional<std::int64_t> count = integer_of(arguments.values[1]);
    if (!separator || separator->empty() || !count) return std::nullopt;
    return split_from_end(text, *separator, *count);
  }
  if (name == "startswith") return has_affix(text, arguments.first(), true);
  if (name == "endswith") return has_affix(text, arguments.first(), false);
  if (name == "isdigit")
    return Value(!text.empty() &&
                 std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; }));
  if (name == "replace") {
    const std::optional<std::string> from = arguments.text_at(0);
    const std::optional<std::string> to = arguments.text_at(1);
    return from && to ? std::optional(Value(replaced(text, *from, *to))) : std::nullopt;
  }
  if (name == "join") {
    const std::optional<Values> parts = items_of(arguments.first());
    if (!parts) return std::nullopt;
    std::string whole_text;
    for (const Value& part : *parts) {
      const auto* const own = std::get_if<std::string>(&part);
      if (own == nullptr) return std::nullopt;
      if (&part != parts->data()) whole_text += text;
      whole_text += *own;
    }
    return Value(std::move(whole_text));
  }
  return std::nullopt;
}

std::optional<Value> list_method(List& list, std::string_view name, const Arguments& arguments,
                                 bool is_certain) {
  const auto made = [&](const Value& value) {
    return is_certain ? value : Value(Unknown{.text = "an unknown condition", .origin = {}});
  };
  if (name == "append" || name == "add") {
    if (list.items.size() > max_items) return std::nullopt;
    list.items.push_back(made(arguments.first()));
    return Value();
  }
  if (name == "extend" || name == "update") {
    const std::optional<Values> items = items_of(arguments.first());
    if (list.items.size() + (items ? items->size() : 1) > max_items) return std::nullopt;
    // One unknown item stands for items of unknown number.
    if (!items) list.items.emplace_back(Unknown{.text = "items of an unknown list", .origin = {}});
    for (const Value& item : items.value_or(Values{})) list.items.push_back(made(item));
    return Value();
  }
  if (name == "insert" && arguments.values.size() == 2) {
    const std::int64_t at = integer_of(arguments.values[0]).value_or(0);
    const auto size = static_cast<std::int64_t>(list.items.size());
    list.items.insert(
        list.items.begin() + std::clamp<std::int64_t>(at < 0 ? size + at : at, 0, size),
        made(arguments.values[1]));
    return Value();
  }
  if (name == "copy") return make_list(list.items, list.kind);
  if (name == "count" || name == "index") {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const std::optional<bool> same = are_equal(list.items[i], arguments.first());
      if (!same) return std::nullopt;
      if (*same && name == "index") return Value(static_cast<std::int64_t>(i));
      count += *same ? 1 : 0;
    }
    return name == "count" ? std::optional(Value(count)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> dictionary_method(const std::shared_ptr<Dictionary>& dictionary,
                                       std::string_view name, const Arguments& arguments,
                                       bool is_certain) {
  const auto made = [&](const Value& value) {
    return is_certain ? value : Value(Unknown{.text = "an unknown condition", .origin = {}});
  };
  const Value otherwise = arguments.values.size() > 1 ? arguments.values[1] : Value();
  if (name == "get" || name == "setdefault" || name == "pop") {
    if (!is_known(arguments.first())) return std::nullopt;
    if (const Value* const value = find_entry(*dictionary, arguments.first())) {
      const Value result = *value;
      if (name == "pop")
        std::erase_if(dictionary->entries, [&](const auto& entry) {
          return are_equal(entry.first, arguments.first()).value_or(false);
        });
      return result;
    }
    if (name == "setdefault") set_entry(*dictionary, arguments.first(), made(otherwise));
    return otherwise;
  }
  if (name == "update") {
    if (const auto* const more = std::get_if<std::shared_ptr<Dictionary>>(&arguments.first()))
      for (const auto& [key, value] : (*more)->entries) set_entry(*dictionary, key, made(value));
    for (const Arguments::Keyword& keyword : arguments.keywords)
      set_entry(*dictionary, keyword.name, made(keyword.value));
    return Value();
  }
  if (name == "copy") return Value(std::make_shared<Dictionary>(*dictionary));
  if (name != "keys" && name != "values" && name != "items") return std::nullopt;
  Values items;
  for (const auto& [key, value] : dictionary->entries)
    if (name == "items")
      items.push_back(make_list({key, value}, List::Kind::tuple));
    else
      items.push_back(name == "keys" ? key : value);
  return make_list(std::move(items));
}

}  // namespace

std::optional<Value> call_method(const Value& receiver, std::string_view name,
                                 const Arguments& arguments, bool is_certain) {
  if (const auto* const text = std::get_if<std::string>(&receiver))
    return text_method(*text, name, arguments);
  if (const auto* const list = std::get_if<std::shared_ptr<List>>(&receiver))
    return list_method(**list, name, arguments, is_certain);
  if (const auto* const dictionary = std::get_if<std::shared_ptr<Dictionary>>(&receiver))
    return dictionary_method(*dictionary, name, arguments, is_certain);
  return std::nullopt;
}

}  // namespace pipewright::jobs::python
