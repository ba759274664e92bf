#include "sim/jobs/python/value.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace pipewright::jobs::python {
namespace {

// Returns whether two sequences have equal items; none if that is unknown.
std::optional<bool> are_equal_items(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  bool is_certain = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::optional<bool> same = are_equal(a[i], b[i]);
    if (same == false) return false;
    is_certain = is_certain && same.has_value();
  }
  return is_certain ? std::optional(true) : std::nullopt;
}

// Returns whether a name is that of a class, whose objects are never None.
bool names_class(std::string_view name) {
  const std::string_view last = last_part(name);
  return !last.empty() && last.front() >= 'A' && last.front() <= 'Z';
}

}  // namespace

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

const Value& Arguments::first() const {
  static const Value none;
  return values.empty() ? none : values.front();
}

std::optional<std::string> Arguments::text_at(std::size_t index) const {
  if (index >= values.size()) return std::nullopt;
  const auto* const text = std::get_if<std::string>(&values[index]);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

const Value* Arguments::keyword(std::string_view name) const {
  const auto it = std::ranges::find(keywords, name, &Keyword::name);
  return it == keywords.end() ? nullptr : &it->value;
}

Attribute* Object::find(std::string_view name) {
  const auto it = std::ranges::find(attributes, name, &Attribute::name);
  return it == attributes.end() ? nullptr : &*it;
}

bool is_known(const Value& value) {
  if (std::holds_alternative<Unknown>(value)) return false;
  if (const auto* const object = std::get_if<std::shared_ptr<Object>>(&value))
    return (*object)->type != nullptr || names_class((*object)->made_by);
  return true;
}

std::optional<bool> truth_of(const Value& value) {
  if (!is_known(value)) return std::nullopt;
  if (std::holds_alternative<std::monostate>(value)) return false;
  if (const std::optional<double> number = number_of(value)) return *number != 0;
  if (const auto* const text = std::get_if<std::string>(&value)) return !text->empty();
  if (const auto* const list = std::get_if<std::shared_ptr<List>>(&value))
    return !(*list)->items.empty();
  if (const auto* const dictionary = std::get_if<std::shared_ptr<Dictionary>>(&value))
    return !(*dictionary)->entries.empty();
  // Names of other packages are mostly classes and members of enumerations.
  if (const auto* const external = std::get_if<External>(&value))
    return names_class(external->name) ? std::optional(true) : std::nullopt;
  return true;
}

std::optional<bool> are_equal(const Value& a, const Value& b) {
  if (!is_known(a) || !is_known(b)) {
    const auto* const x = std::get_if<std::shared_ptr<Object>>(&a);
    const auto* const y = std::get_if<std::shared_ptr<Object>>(&b);
    return x != nullptr && y != nullptr && *x == *y ? std::optional(true) : std::nullopt;
  }
  const std::optional<double> left = number_of(a);
  const std::optional<double> right = number_of(b);
  if (left && right) return *left == *right;
  if (a.index() != b.index()) {
    const bool has_external =
        std::holds_alternative<External>(a) || std::holds_alternative<External>(b);
    const bool has_none =
        std::holds_alternative<std::monostate>(a) || std::holds_alternative<std::monostate>(b);
    return has_external && !has_none ? std::nullopt : std::optional(false);
  }
  if (const auto* const text = std::get_if<std::string>(&a))
    return *text == std::get<std::string>(b);
  if (const auto* const external = std::get_if<External>(&a))
    return external->name == std::get<External>(b).name;
  if (const auto* const list = std::get_if<std::shared_ptr<List>>(&a))
    return are_equal_items((*list)->items, std::get<std::shared_ptr<List>>(b)->items);
  if (const auto* const x = std::get_if<std::shared_ptr<Dictionary>>(&a)) {
    const auto& y = std::get<std::shared_ptr<Dictionary>>(b);
    return *x == y ? std::optional(true) : std::nullopt;
  }
  if (const auto* const x = std::get_if<std::shared_ptr<Object>>(&a))
    return *x == std::get<std::shared_ptr<Object>>(b) ? std::optional(true) : std::nullopt;
  if (const auto* const x = std::get_if<std::shared_ptr<const Function>>(&a))
    return *x == std::get<std::shared_ptr<const Function>>(b);
  if (const auto* const x = std::get_if<std::shared_ptr<const Type>>(&a))
    return *x == std::get<std::shared_ptr<const Type>>(b);
  return std::holds_alternative<std::monostate>(a) ? std::optional(true) : std::nullopt;
}

std::optional<std::string> text_of(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "None";
  if (const auto* const flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* const integer = std::get_if<std::int64_t>(&value))
    return fmt::format("{}", *integer);
  if (const auto* const real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  if (const auto* const external = std::get_if<External>(&value)) return external->name;
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const Value& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* const flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return std::nullopt;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  if (const std::optional<std::int64_t> integer = integer_of(value))
    return static_cast<double>(*integer);
  return std::nullopt;
}

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
    std::vector<Value> keys;
    for (const auto& [key, entry] : (*dictionary)->entries) keys.push_back(key);
    return keys;
  }
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr) return std::nullopt;
  std::vector<Value> characters;
  for (const char c : *text) characters.emplace_back(std::string(1, c));
  return characters;
}

}  // namespace pipewright::jobs::python
