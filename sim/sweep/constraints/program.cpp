#include "sim/sweep/constraints/program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/fields.hpp"

namespace pipewright::search {
namespace {

using Op = Expression::Op;

constexpr std::size_t stack_size = 256;  // parse_expression() allows 50 levels of 5 values each

std::string_view noun_of_type(Type type) {
  switch (type) {
    case Type::number:
      return "a number";
    case Type::truth:
      return "a truth value";
    case Type::text:
      break;
  }
  return "a text";
}

std::string_view sign_of(Op op) {
  constexpr std::array<std::string_view, 22> signs{
      "",  "",   "",  "",   "-",  "not", "+",   "-",  "*",   "/",   "%",
      "<", "<=", ">", ">=", "==", "!=",  "and", "or", "min", "max", ""};
  return signs.at(static_cast<std::size_t>(op));
}

// Describes an operand for an error message: "tp (a number)", "the text '1f1b'", or else its type.
std::string describe_operand(const Expression& expression, Type type) {
  if (expression.op == Op::name) return fmt::format("{} ({})", expression.text, noun_of_type(type));
  if (expression.op == Op::text)
    return fmt::format("the text {}", config::in_quotes(expression.text));
  return std::string(noun_of_type(type));
}

void require_type(const Expression& whole, const Expression& part, Type type, Type needed) {
  if (type == needed) return;
  throw ExpressionError(
      part.column,
      fmt::format("{} takes {} on {} side, not {}", sign_of(whole.op),
                  needed == Type::number ? "numbers" : "truth values",
                  whole.children.size() == 1 ? "its" : "either", describe_operand(part, type)))
      .suggest(needed == Type::truth ? "write a comparison such as tp <= 8" : "");
}

bool is_order(Op op) { return op >= Op::less && op <= Op::greater_equal; }

void check_comparison(const Expression& whole, Type left, Type right) {
  const Expression& a = whole.children[0];
  const Expression& b = whole.children[1];
  if (left != right)
    throw ExpressionError(
        whole.column,
        fmt::format("{} compares {} with {}; both sides must have the same type", sign_of(whole.op),
                    describe_operand(a, left), describe_operand(b, right)));
  if (is_order(whole.op) && left != Type::number)
    throw ExpressionError(
        whole.column,
        fmt::format("{} compares numbers, not {}; compare {}s with == or !=", sign_of(whole.op),
                    describe_operand(a, left), noun_of_type(left).substr(2)));
}

// Throws ExpressionError if a name is compared with a text that the name can never have, since such
// a comparison must be a mistake.
void check_text(const Names& names, const Expression& name, const Expression& text) {
  const auto slot = name.op == Op::name && text.op == Op::text ? names.find(name.text)
                                                               : std::optional<std::size_t>();
  if (!slot) return;
  const std::vector<std::string>& texts = names[*slot].texts;
  if (texts.empty() || std::ranges::find(texts, text.text) != texts.end()) return;
  const std::vector<std::string_view> allowed(texts.begin(), texts.end());
  throw ExpressionError(text.column,
                        fmt::format("{} is never {}", name.text, config::in_quotes(text.text)))
      .suggest_name(config::nearest_name(text.text, allowed))
      .allow(fmt::format("{}", fmt::join(allowed, ", ")));
}

}  // namespace

std::size_t Names::add(Name name, double value) {
  const std::size_t slot = names_.size();
  const auto [position, is_new] = slots_.try_emplace(name.name, slot);
  if (!name.key.empty()) {
    keys_with_name_[name.name].push_back(slot);
    if (!is_new && name.is_set && !names_[position->second].is_set) position->second = slot;
    slots_.insert_or_assign(name.key, slot);
  }
  names_.push_back(std::move(name));
  values_.push_back(value);
  return slot;
}

void Names::define(const std::string& name, std::string_view expression) {
  definitions_.emplace(name, parse_expression(expression));
}

std::optional<std::size_t> Names::find(std::string_view name) const {
  const auto it = slots_.find(name);
  return it == slots_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string_view> Names::keys_of_ambiguous(std::string_view name) const {
  const auto slots = keys_with_name_.find(name);
  const auto meaning = slots_.find(name);
  if (slots == keys_with_name_.end() || meaning == slots_.end()) return {};
  const Name& chosen = names_[meaning->second];
  if (chosen.key.empty() || chosen.key == name) return {};
  std::vector<std::string_view> keys;
  for (const std::size_t slot : slots->second)
    if (names_[slot].is_set == chosen.is_set) keys.emplace_back(names_[slot].key);
  return keys.size() > 1 ? keys : std::vector<std::string_view>{};
}

const Expression* Names::definition(std::string_view name) const {
  const auto it = definitions_.find(name);
  return it == definitions_.end() ? nullptr : &it->second;
}

std::vector<std::string_view> Names::list() const {
  std::vector<std::string_view> names;
  for (const Name& name : names_)
    if (slots_.at(name.name) == static_cast<std::size_t>(&name - names_.data()))
      names.push_back(name.name);
  for (const auto& [name, expression] : definitions_) names.push_back(name);
  return names;
}

double Names::number_of(const std::string& text) {
  return texts_.try_emplace(text, static_cast<double>(texts_.size())).first->second;
}

Program::Program(const Expression& expression, Names& names) { type_ = compile(expression, names); }

void Program::emit(Op op, std::size_t argument, double number) {
  steps_.push_back({op, static_cast<std::uint32_t>(argument), number});
}

Type Program::compile(const Expression& expression, Names& names) {
  switch (expression.op) {
    case Op::number:
    case Op::truth:
      emit(Op::number, 0, expression.number);
      return expression.op == Op::number ? Type::number : Type::truth;
    case Op::text:
      emit(Op::number, 0, names.number_of(expression.text));
      return Type::text;
    case Op::name:
      return compile_name(expression, names);
    case Op::logical_and:
    case Op::logical_or:
      return compile_logical(expression, names);
    default:
      break;
  }
  std::vector<Type> types;
  for (const Expression& child : expression.children) types.push_back(compile(child, names));
  const bool compares =
      is_order(expression.op) || expression.op == Op::equal || expression.op == Op::not_equal;
  const Type needed = expression.op == Op::logical_not ? Type::truth : Type::number;
  if (compares) {
    const Expression& left = expression.children[0];
    const Expression& right = expression.children[1];
    check_comparison(expression, types[0], types[1]);
    check_text(names, left, right);
    check_text(names, right, left);
  } else {
    for (std::size_t i = 0; i < types.size(); ++i)
      require_type(expression, expression.children[i], types[i], needed);
  }
  emit(expression.op, expression.column);
  return compares ? Type::truth : needed;
}

Type Program::compile_name(const Expression& expression, Names& names) {
  const std::string& name = expression.text;
  if (const auto slot = names.find(name)) {
    const Name& entry = names[*slot];
    if (const auto keys = names.keys_of_ambiguous(name); !keys.empty())
      throw ExpressionError(expression.column,
                            fmt::format("{} is the name of {} keys", name, keys.size()))
          .allow(fmt::format("{}", fmt::join(keys, ", ")));
    if (!entry.unknown.empty())
      throw ExpressionError(expression.column,
                            fmt::format("{} is not known: {}", name, entry.unknown));
    slots_.insert(*slot);
    emit(Op::name, *slot);
    return entry.type;
  }
  if (const Expression* const meaning = names.definition(name)) {
    try {
      return compile(*meaning, names);
    } catch (const ExpressionError& error) {
      ExpressionError outer = error.within({}, name);
      outer.column = expression.column;
      throw outer;
    }
  }
  const std::vector<std::string_view> allowed = names.list();
  throw ExpressionError(expression.column, fmt::format("unknown name {}", config::in_quotes(name)))
      .suggest_name(config::nearest_name(name, allowed))
      .allow(fmt::format("{}, and texts in quotes", fmt::join(allowed, ", ")));
}

// Compiles `and` and `or`: a jump skips the right side if the left side decides.
Type Program::compile_logical(const Expression& expression, Names& names) {
  const auto side = [&](const Expression& part) {
    require_type(expression, part, compile(part, names), Type::truth);
  };
  side(expression.children[0]);
  const std::size_t jump = steps_.size();
  emit(expression.op);
  side(expression.children[1]);
  steps_[jump].argument = static_cast<std::uint32_t>(steps_.size());
  return Type::truth;
}

double Program::operator()(std::span<const double> values) const {
  std::array<double, stack_size> stack;  // written before it is read
  double* top = stack.data();            // the last value on the stack
  *top = 0;
  const auto nonzero = [](double divisor, std::uint32_t column) {
    if (divisor == 0) throw ExpressionError(column, "it divides by 0");
    return divisor;
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    switch (step.op) {
      case Op::number:
      case Op::truth:
      case Op::text:
        *++top = step.number;
        continue;
      case Op::name:
        *++top = values[step.argument];
        continue;
      case Op::negate:
        *top = -*top;
        continue;
      case Op::logical_not:
        *top = *top == 0 ? 1 : 0;
        continue;
      case Op::logical_and:
      case Op::logical_or:
        if ((*top != 0) == (step.op == Op::logical_or))
          i = step.argument - 1;
        else
          --top;
        continue;
      default:
        break;
    }
    const double right = *top--;
    const double left = *top;
    switch (step.op) {
      case Op::add:
        *top = left + right;
        break;
      case Op::subtract:
        *top = left - right;
        break;
      case Op::multiply:
        *top = left * right;
        break;
      case Op::divide:
        *top = left / nonzero(right, step.argument);
        break;
      case Op::modulo:
        *top = std::fmod(left, nonzero(right, step.argument));
        break;
      case Op::less:
        *top = left < right ? 1 : 0;
        break;
      case Op::less_equal:
        *top = left <= right ? 1 : 0;
        break;
      case Op::greater:
        *top = left > right ? 1 : 0;
        break;
      case Op::greater_equal:
        *top = left >= right ? 1 : 0;
        break;
      case Op::equal:
        *top = left == right ? 1 : 0;
        break;
      case Op::not_equal:
        *top = left != right ? 1 : 0;
        break;
      case Op::min:
        *top = std::min(left, right);
        break;
      default:
        *top = std::max(left, right);
        break;
    }
  }
  return *top;
}

}  // namespace pipewright::search
