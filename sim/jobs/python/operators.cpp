#include "sim/jobs/python/operators.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::jobs::python {
namespace {

using Values = std::vector<Value>;

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

}  // namespace

std::optional<Value> whole(double value) {
  constexpr double largest = 9e15;  // below 2^53, so that the double is exact
  if (!(std::abs(value) <= largest)) return Value(value);
  return Value(static_cast<std::int64_t>(value));
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

}  // namespace pipewright::jobs::python
