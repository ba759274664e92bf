#include "sim/jobs/python/builtins.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/base/letters.hpp"
#include "sim/base/numbers.hpp"

namespace pipewright::jobs::python {
namespace {

using Values = std::vector<Value>;

constexpr std::size_t max_items = 1U << 20U;  // of a list, and characters of a text

std::optional<double> number_of(const Value& value) {
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  if (const std::optional<std::int64_t> integer = integer_of(value))
    return static_cast<double>(*integer);
  return std::nullopt;
}

const Value& first_of(const Arguments& arguments) {
  static const Value none;
  return arguments.values.empty() ? none : arguments.values.front();
}

std::optional<std::string> text_at(const Arguments& arguments, std::size_t index) {
  if (index >= arguments.values.size()) return std::nullopt;
  const auto* const text = std::get_if<std::string>(&arguments.values[index]);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

// Whole number by an operation that may overflow.
std::optional<Value> whole(double value) {
  constexpr double largest = 9e15;  // below 2^53, so that the double is exact
  if (!(std::abs(value) <= largest)) return Value(value);
  return Value(static_cast<std::int64_t>(value));
}

std::optional<Value> arithmetic(std::string_view operation, const Value& a, const Value& b) {
  const std::optional<double> x = number_of(a);
  const std::optional<double> y = number_of(b);
  if (!x || !y) return std::nullopt;
  const bool are_whole = integer_of(a) && integer_of(b);
  const auto result = [&](double value) { return are_whole ? whole(value) : Value(value); };
  if (operation == "+") return result(*x + *y);
  if (operation == "-") return result(*x - *y);
  if (operation == "*") return result(*x * *y);
  if (operation == "**") {
    const double power = std::pow(*x, *y);
    return are_whole && *y >= 0 ? whole(power) : std::optional(Value(power));
  }
  if (operation == "&" || operation == "|") {
    if (!are_whole) return std::nullopt;
    const std::int64_t bits =
        operation == "&" ? *integer_of(a) & *integer_of(b) : *integer_of(a) | *integer_of(b);
    return Value(bits);
  }
  if (*y == 0) return std::nullopt;
  if (operation == "/") return Value(*x / *y);
  if (operation == "//") return result(std::floor(*x / *y));
  if (operation == "%") return result(*x - *y * std::floor(*x / *y));
  return std::nullopt;
}

std::optional<Value> repeated(const Value& sequence, std::int64_t times) {
  const std::size_t count = times < 0 ? 0 : static_cast<std::size_t>(times);
  if (const auto* const text = std::get_if<std::string>(&sequence)) {
    if (count > max_items / std::max<std::size_t>(text->size(), 1)) return std::nullopt;
    std::string whole_text;
    for (std::size_t i = 0; i < count; ++i) whole_text += *text;
    return Value(std::move(whole_text));
  }
  const auto* const list = std::get_if<std::shared_ptr<List>>(&sequence);
  if (list == nullptr || count > max_items / std::max<std::size_t>((*list)->items.size(), 1))
    return std::nullopt;
  Values items;
  for (std::size_t i = 0; i < count; ++i)
    items.insert(items.end(), (*list)->items.begin(), (*list)->items.end());
  return make_list(std::move(items), (*list)->kind);
}

std::optional<Value> joined(std::string_view operation, const Value& a, const Value& b) {
  const auto* const left_text = std::get_if<std::string>(&a);
  const auto* const right_text = std::get_if<std::string>(&b);
  if (operation == "+" && left_text != nullptr && right_text != nullptr)
    return Value(*left_text + *right_text);
  const auto* const left = std::get_if<std::shared_ptr<List>>(&a);
  const auto* const right = std::get_if<std::shared_ptr<List>>(&b);
  if (left != nullptr && right != nullptr && (operation == "+" || operation == "|")) {
    Values items = (*left)->items;
    items.insert(items.end(), (*right)->items.begin(), (*right)->items.end());
    return make_list(std::move(items), (*left)->kind);
  }
  const auto* const base = std::get_if<std::shared_ptr<Dictionary>>(&a);
  const auto* const more = std::get_if<std::shared_ptr<Dictionary>>(&b);
  if (operation != "|" || base == nullptr || more == nullptr) return std::nullopt;
  auto both = std::make_shared<Dictionary>(**base);
  for (const auto& [key, value] : (*more)->entries) set_entry(*both, key, value);
  return Value(std::move(both));
}

std::optional<bool> contains(const Value& container, const Value& item) {
  const auto* const text = std::get_if<std::string>(&container);
  const auto* const part = std::get_if<std::string>(&item);
  if (text != nullptr && part != nullptr) return text->find(*part) != std::string::npos;
  const std::optional<Values> items = items_of(container);
  if (!items || text != nullptr) return std::nullopt;
  bool is_certain = true;
  for (const Value& candidate : *items) {
    const std::optional<bool> same = are_equal(candidate, item);
    if (same == true) return true;
    is_certain = is_certain && same.has_value();
  }
  return is_certain ? std::optional(false) : std::nullopt;
}

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
    return Value(stripped(text, text_at(arguments, 0).value_or(std::string(blanks))));
  if (name == "split" && arguments.values.size() < 2) return split(text, text_at(arguments, 0));
  if (name == "rsplit" && arguments.values.size() == 2) {
    const std::optional<std::string> separator = text_at(arguments, 0);
    const std::optional<std::int64_t> count = integer_of(arguments.values[1]);
    if (!separator || separator->empty() || !count) return std::nullopt;
    return split_from_end(text, *separator, *count);
  }
  if (name == "startswith") return has_affix(text, first_of(arguments), true);
  if (name == "endswith") return has_affix(text, first_of(arguments), false);
  if (name == "isdigit")
    return Value(!text.empty() &&
                 std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; }));
  if (name == "replace") {
    const std::optional<std::string> from = text_at(arguments, 0);
    const std::optional<std::string> to = text_at(arguments, 1);
    return from && to ? std::optional(Value(replaced(text, *from, *to))) : std::nullopt;
  }
  if (name == "join") {
    const std::optional<Values> parts = items_of(first_of(arguments));
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
    list.items.push_back(made(first_of(arguments)));
    return Value();
  }
  if (name == "extend" || name == "update") {
    const std::optional<Values> items = items_of(first_of(arguments));
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
      const std::optional<bool> same = are_equal(list.items[i], first_of(arguments));
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
    if (!is_known(first_of(arguments))) return std::nullopt;
    if (const Value* const value = find_entry(*dictionary, first_of(arguments))) {
      const Value result = *value;
      if (name == "pop")
        std::erase_if(dictionary->entries, [&](const auto& entry) {
          return are_equal(entry.first, first_of(arguments)).value_or(false);
        });
      return result;
    }
    if (name == "setdefault") set_entry(*dictionary, first_of(arguments), made(otherwise));
    return otherwise;
  }
  if (name == "update") {
    if (const auto* const more = std::get_if<std::shared_ptr<Dictionary>>(&first_of(arguments)))
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

Value copied(const Value& value, bool is_deep) {
  if (const auto* const list = std::get_if<std::shared_ptr<List>>(&value)) {
    Values items = (*list)->items;
    if (is_deep)
      for (Value& item : items) item = copied(item, true);
    return make_list(std::move(items), (*list)->kind);
  }
  if (const auto* const dictionary = std::get_if<std::shared_ptr<Dictionary>>(&value)) {
    auto copy = std::make_shared<Dictionary>(**dictionary);
    if (is_deep)
      for (auto& [key, entry] : copy->entries) entry = copied(entry, true);
    return copy;
  }
  if (const auto* const object = std::get_if<std::shared_ptr<Object>>(&value)) {
    auto copy = std::make_shared<Object>(**object);
    if (is_deep)
      for (Attribute& attribute : copy->attributes) attribute.value = copied(attribute.value, true);
    return copy;
  }
  return value;
}

std::optional<Value> conversion(std::string_view name, const Value& value) {
  if (name == "bool") {
    const std::optional<bool> truth = truth_of(value);
    return truth ? std::optional(Value(*truth)) : std::nullopt;
  }
  if (name == "str" || name == "repr") {
    const std::optional<std::string> text = text_of(value);
    return text ? std::optional(Value(*text)) : std::nullopt;
  }
  std::optional<double> number = number_of(value);
  if (const auto* const text = std::get_if<std::string>(&value))
    number = base::parse_number<double>(*text);
  if (!number) return std::nullopt;
  if (name == "int") return whole(std::trunc(*number));
  if (name == "round") return whole(std::nearbyint(*number));
  if (name == "float") return Value(*number);
  if (name == "math.ceil") return whole(std::ceil(*number));
  if (name == "math.floor") return whole(std::floor(*number));
  if (name == "abs" && integer_of(value)) return whole(std::abs(*number));
  return name == "abs" ? std::optional(Value(std::abs(*number))) : std::nullopt;
}

std::optional<Value> range(const Arguments& arguments) {
  std::vector<std::int64_t> bounds;
  for (const Value& value : arguments.values) {
    const std::optional<std::int64_t> bound = integer_of(value);
    if (!bound) return std::nullopt;
    bounds.push_back(*bound);
  }
  if (bounds.empty() || bounds.size() > 3) return std::nullopt;
  const std::int64_t begin = bounds.size() > 1 ? bounds[0] : 0;
  const std::int64_t end = bounds.size() > 1 ? bounds[1] : bounds[0];
  const std::int64_t step = bounds.size() > 2 ? bounds[2] : 1;
  if (step == 0) return std::nullopt;
  Values items;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    if (items.size() >= max_items) return std::nullopt;
    items.emplace_back(i);
  }
  return make_list(std::move(items));
}

// Smallest or largest argument, or item of the only argument.
std::optional<Value> extreme(bool is_largest, const Arguments& arguments) {
  std::optional<Values> items = arguments.values.size() == 1 ? items_of(arguments.values.front())
                                                             : std::optional(arguments.values);
  if (!items || items->empty()) return std::nullopt;
  Value best = items->front();
  for (const Value& item : *items) {
    const std::optional<bool> is_before = comparison(is_largest ? "<" : ">", best, item);
    if (!is_before) return std::nullopt;
    if (*is_before) best = item;
  }
  return best;
}

std::optional<Value> sum(const Value& value) {
  const std::optional<Values> items = items_of(value);
  if (!items) return std::nullopt;
  Value total = std::int64_t{0};
  for (const Value& item : *items) {
    const std::optional<Value> next = binary_operation("+", total, item);
    if (!next) return std::nullopt;
    total = *next;
  }
  return total;
}

std::optional<Value> all_or_any(bool is_all, const Value& value) {
  const std::optional<Values> items = items_of(value);
  if (!items) return std::nullopt;
  bool is_certain = true;
  for (const Value& item : *items) {
    const std::optional<bool> truth = truth_of(item);
    if (truth == !is_all) return Value(!is_all);
    is_certain = is_certain && truth.has_value();
  }
  return is_certain ? std::optional(Value(is_all)) : std::nullopt;
}

std::optional<Value> paired(const Arguments& arguments, bool is_enumerated) {
  std::vector<Values> columns;
  for (const Value& value : arguments.values) {
    std::optional<Values> items = items_of(value);
    if (!items) return std::nullopt;
    columns.push_back(std::move(*items));
    if (is_enumerated) break;
  }
  if (columns.empty()) return make_list({});
  std::size_t rows = columns.front().size();
  for (const Values& column : columns) rows = std::min(rows, column.size());
  Values items;
  for (std::size_t i = 0; i < rows; ++i) {
    Values row;
    if (is_enumerated) row.emplace_back(static_cast<std::int64_t>(i));
    for (const Values& column : columns) row.push_back(column[i]);
    items.push_back(make_list(std::move(row), List::Kind::tuple));
  }
  return make_list(std::move(items));
}

std::optional<Value> collection(std::string_view name, const Arguments& arguments) {
  if (name == "dict") {
    auto made = std::make_shared<Dictionary>();
    if (!arguments.values.empty()) {
      const auto* const base = std::get_if<std::shared_ptr<Dictionary>>(&arguments.values.front());
      if (base == nullptr) return std::nullopt;
      *made = **base;
    }
    for (const Arguments::Keyword& keyword : arguments.keywords)
      set_entry(*made, keyword.name, keyword.value);
    return Value(std::move(made));
  }
  const List::Kind kind = name == "tuple"                        ? List::Kind::tuple
                          : name == "set" || name == "frozenset" ? List::Kind::set
                                                                 : List::Kind::list;
  if (arguments.values.empty()) return make_list({}, kind);
  std::optional<Values> items = items_of(arguments.values.front());
  if (!items) return std::nullopt;
  if (name == "reversed") std::ranges::reverse(*items);
  if (name == "sorted") {
    bool is_certain = true;
    std::ranges::stable_sort(*items, [&](const Value& a, const Value& b) {
      const std::optional<bool> is_before = comparison("<", a, b);
      is_certain = is_certain && is_before.has_value();
      return is_before.value_or(false);
    });
    if (!is_certain) return std::nullopt;
  }
  return make_list(std::move(*items), kind);
}

bool has_type(const Type& type, std::string_view name) {
  if (type.name == name) return true;
  return std::ranges::any_of(type.bases, [&](const Value& base) {
    if (const auto* const external = std::get_if<External>(&base))
      return last_part(external->name) == name;
    const auto* const own = std::get_if<std::shared_ptr<const Type>>(&base);
    return own != nullptr && has_type(**own, name);
  });
}

// Returns whether a value is of the class with this name.
std::optional<bool> is_instance(const Value& value, std::string_view name) {
  if (!is_known(value)) return std::nullopt;
  if (const auto* const object = std::get_if<std::shared_ptr<Object>>(&value)) {
    if ((*object)->type != nullptr) {
      if (has_type(*(*object)->type, name)) return true;
      return false;
    }
    if (last_part((*object)->made_by) == name) return true;
    constexpr std::array<std::string_view, 8> plain{"str",  "int",   "float", "bool",
                                                    "list", "tuple", "dict",  "set"};
    return std::ranges::find(plain, name) != plain.end() ? std::optional(false) : std::nullopt;
  }
  if (std::holds_alternative<std::string>(value)) return name == "str";
  if (std::holds_alternative<bool>(value)) return name == "bool" || name == "int";
  if (std::holds_alternative<std::int64_t>(value)) return name == "int";
  if (std::holds_alternative<double>(value)) return name == "float";
  if (std::holds_alternative<std::monostate>(value)) return name == "NoneType";
  if (std::holds_alternative<std::shared_ptr<Dictionary>>(value)) return name == "dict";
  if (const auto* const list = std::get_if<std::shared_ptr<List>>(&value))
    return name == ((*list)->kind == List::Kind::list    ? "list"
                    : (*list)->kind == List::Kind::tuple ? "tuple"
                                                         : "set");
  return std::nullopt;
}

std::optional<Value> is_instance_of(const Value& value, const Value& type) {
  Values types{type};
  if (const auto* const list = std::get_if<std::shared_ptr<List>>(&type)) types = (*list)->items;
  bool is_certain = true;
  for (const Value& each : types) {
    std::string name;
    if (const auto* const external = std::get_if<External>(&each))
      name = last_part(external->name);
    else if (const auto* const own = std::get_if<std::shared_ptr<const Type>>(&each))
      name = (*own)->name;
    const std::optional<bool> is = name.empty() ? std::nullopt : is_instance(value, name);
    if (is == true) return Value(true);
    is_certain = is_certain && is.has_value();
  }
  return is_certain ? std::optional(Value(false)) : std::nullopt;
}

}  // namespace

Value make_list(std::vector<Value> items, List::Kind kind) {
  return std::make_shared<List>(List{.kind = kind, .items = std::move(items)});
}

Value* find_entry(Dictionary& dictionary, const Value& key) {
  for (auto& [own, value] : dictionary.entries)
    if (are_equal(own, key) == true) return &value;
  return nullptr;
}

void set_entry(Dictionary& dictionary, const Value& key, Value value) {
  if (Value* const entry = find_entry(dictionary, key))
    *entry = std::move(value);
  else
    dictionary.entries.emplace_back(key, std::move(value));
}

std::optional<std::vector<Value>> items_of(const Value& value) {
  if (const auto* const list = std::get_if<std::shared_ptr<List>>(&value)) return (*list)->items;
  if (const auto* const dictionary = std::get_if<std::shared_ptr<Dictionary>>(&value)) {
    Values keys;
    for (const auto& [key, entry] : (*dictionary)->entries) keys.push_back(key);
    return keys;
  }
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr) return std::nullopt;
  Values characters;
  for (const char c : *text) characters.emplace_back(std::string(1, c));
  return characters;
}

std::optional<Value> binary_operation(std::string_view operation, const Value& a, const Value& b) {
  if (std::optional<Value> number = arithmetic(operation, a, b)) return number;
  if (operation == "*") {
    if (const std::optional<std::int64_t> times = integer_of(b)) return repeated(a, *times);
    if (const std::optional<std::int64_t> times = integer_of(a)) return repeated(b, *times);
  }
  return joined(operation, a, b);
}

std::optional<bool> comparison(std::string_view operation, const Value& a, const Value& b) {
  const auto negated = [](std::optional<bool> is) {
    return is ? std::optional(!*is) : std::nullopt;
  };
  if (operation == "in") return contains(b, a);
  if (operation == "not in") return negated(contains(b, a));
  if (operation == "==" || operation == "is") return are_equal(a, b);
  if (operation == "!=" || operation == "is not") return negated(are_equal(a, b));
  const auto* const left = std::get_if<std::string>(&a);
  const auto* const right = std::get_if<std::string>(&b);
  std::optional<int> order;
  if (left != nullptr && right != nullptr) order = left->compare(*right);
  const std::optional<double> x = number_of(a);
  const std::optional<double> y = number_of(b);
  if (x && y) order = *x < *y ? -1 : *x > *y ? 1 : 0;
  if (!order) return std::nullopt;
  if (operation == "<") return *order < 0;
  if (operation == ">") return *order > 0;
  if (operation == "<=") return *order <= 0;
  return *order >= 0;
}

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

namespace {

// Names of the functions that are known here, whose results may still be unknown.
constexpr std::array<std::string_view, 40> builtin_names{"len",           "range",
                                                         "int",           "float",
                                                         "str",           "repr",
                                                         "bool",          "round",
                                                         "abs",           "math.ceil",
                                                         "math.floor",    "list",
                                                         "tuple",         "set",
                                                         "frozenset",     "dict",
                                                         "sorted",        "reversed",
                                                         "min",           "max",
                                                         "sum",           "all",
                                                         "any",           "zip",
                                                         "enumerate",     "divmod",
                                                         "isinstance",    "print",
                                                         "copy.deepcopy", "copy.copy",
                                                         "typing.cast",   "os.environ.get",
                                                         "os.getenv",     "dataclasses.field",
                                                         "setattr",       "getattr",
                                                         "hasattr",       "dataclasses.replace",
                                                         "issubclass",    "type"};

std::optional<Value> result_of(Interpreter& interpreter, std::string_view name,
                               const Arguments& arguments, const std::string& written,
                               const config::Origin& origin) {
  const Value& first = first_of(arguments);
  const std::size_t count = arguments.values.size();
  const auto is_any = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (name == "len") {
    const std::optional<Values> items = items_of(first);
    return items ? std::optional(Value(static_cast<std::int64_t>(items->size()))) : std::nullopt;
  }
  if (name == "range") return range(arguments);
  if (is_any({"int", "float", "str", "repr", "bool", "round", "abs", "math.ceil", "math.floor"}) &&
      count == 1)
    return conversion(name, first);
  if (is_any({"list", "tuple", "set", "frozenset", "dict", "sorted", "reversed"}))
    return collection(name, arguments);
  if (name == "min" || name == "max") return extreme(name == "max", arguments);
  if (name == "sum") return sum(first);
  if (name == "all" || name == "any") return all_or_any(name == "all", first);
  if (name == "zip" || name == "enumerate") return paired(arguments, name == "enumerate");
  if (name == "divmod" && count == 2) {
    const std::optional<Value> quotient = binary_operation("//", first, arguments.values[1]);
    const std::optional<Value> rest = binary_operation("%", first, arguments.values[1]);
    if (!quotient || !rest) return std::nullopt;
    return make_list({*quotient, *rest}, List::Kind::tuple);
  }
  if (name == "isinstance" && count == 2) return is_instance_of(first, arguments.values[1]);
  if (is_any({"print", "logging.info", "logging.warning", "logging.debug", "warnings.warn"}))
    return Value();
  if (name == "copy.deepcopy") return copied(first, true);
  if (name == "copy.copy") return copied(first, false);
  if (name == "typing.cast" && count == 2) return arguments.values[1];
  if (name == "os.environ.get" || name == "os.getenv")
    return count > 1 ? std::optional(arguments.values[1]) : std::nullopt;
  if (name == "dataclasses.field") {
    if (const Value* const value = arguments.keyword("default")) return *value;
    if (const Value* const factory = arguments.keyword("default_factory"))
      return interpreter.call(*factory, {}, written, origin);
    return std::nullopt;
  }
  if (name == "setattr" && count == 3) {
    const auto* const object = std::get_if<std::shared_ptr<Object>>(&first);
    const std::optional<std::string> attribute = text_at(arguments, 1);
    if (object == nullptr || !attribute) return std::nullopt;
    interpreter.set_attribute(*object, *attribute, arguments.values[2], written, origin);
    return Value();
  }
  if (name == "getattr" || name == "hasattr") {
    const std::optional<std::string> attribute = text_at(arguments, 1);
    if (!attribute) return std::nullopt;
    const Interpreter::Lookup lookup = interpreter.look_up(first, *attribute);
    if (name == "hasattr")
      return lookup.value || lookup.is_absent ? std::optional(Value(lookup.value.has_value()))
                                              : std::nullopt;
    if (lookup.value) return lookup.value;
    return lookup.is_absent && count > 2 ? std::optional(arguments.values[2]) : std::nullopt;
  }
  if (name == "dataclasses.replace") {
    const Value copy = copied(first, false);
    const auto* const object = std::get_if<std::shared_ptr<Object>>(&copy);
    if (object == nullptr) return std::nullopt;
    for (const Arguments::Keyword& keyword : arguments.keywords)
      interpreter.set_attribute(*object, keyword.name, keyword.value, keyword.written,
                                keyword.origin);
    return copy;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> call_builtin(Interpreter& interpreter, std::string_view name,
                                  const Arguments& arguments, const std::string& written,
                                  const config::Origin& origin) {
  if (std::optional<Value> result = result_of(interpreter, name, arguments, written, origin))
    return result;
  if (std::ranges::find(builtin_names, name) == builtin_names.end()) return std::nullopt;
  return Value(Unknown{.text = written, .origin = origin});
}

}  // namespace pipewright::jobs::python
