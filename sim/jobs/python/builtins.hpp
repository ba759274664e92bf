#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/jobs/python/interpreter.hpp"

namespace pipewright::jobs::python {

// Exception that a configuration raises.
struct Raised {
  std::string type;  // "ValueError"
  std::string text;  // "ValueError: Unknown compute_dtype: fp2"
  config::Origin origin;
};

// Calls a built-in function of Python, or one of its standard library, by its full name, such as
// "len" or "copy.deepcopy". None if there is no such function here.
std::optional<Value> call_builtin(Interpreter& interpreter, std::string_view name,
                                  const Arguments& arguments, const std::string& written,
                                  const config::Origin& origin);

// Calls a method of a string, list, set or dictionary. None if there is no such method here.
// `is_certain` is false below an unknown condition, where changes store unknown values.
std::optional<Value> call_method(const Value& receiver, std::string_view name,
                                 const Arguments& arguments, bool is_certain);

// Results of operators on known values; none if an operand is unknown or not of a suitable type.
std::optional<Value> binary_operation(std::string_view operation, const Value& a, const Value& b);
std::optional<bool> comparison(std::string_view operation, const Value& a, const Value& b);

// Items of a list, keys of a dictionary, or characters of a text; none for other values.
std::optional<std::vector<Value>> items_of(const Value& value);

Value make_list(std::vector<Value> items, List::Kind kind = List::Kind::list);

// Value of a key; null if there is none.
Value* find_entry(Dictionary& dictionary, const Value& key);
void set_entry(Dictionary& dictionary, const Value& key, Value value);

}  // namespace pipewright::jobs::python
