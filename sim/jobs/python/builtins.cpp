#include "sim/jobs/python/builtins.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/numbers.hpp"
#include "sim/jobs/python/operators.hpp"

namespace pipewright::jobs::python {
namespace {

using Values = std::vector<Value>;

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
  const Value& first = arguments.first();
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
    const std::optional<std::string> attribute = arguments.text_at(1);
    if (object == nullptr || !attribute) return std::nullopt;
    interpreter.set_attribute(*object, *attribute, arguments.values[2], written, origin);
    return Value();
  }
  if (name == "getattr" || name == "hasattr") {
    const std::optional<std::string> attribute = arguments.text_at(1);
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
