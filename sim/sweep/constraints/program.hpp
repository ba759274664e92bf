#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/sweep/constraints/expression.hpp"

namespace pipewright::search {

enum class Type { number, truth, text };

// What expressions may speak of. Each name has a slot in the values of a candidate, all doubles:
// truths are 0 or 1, texts have numbers of their own.
struct Name {
  std::string name;
  std::string key;  // the scenario's, which means the same; may be empty
  Type type = Type::number;
  std::string unknown;             // why it has no value in this sweep, or empty
  std::vector<std::string> texts;  // all that a text can be, or none: who knows
};

class Names {
 public:
  // Returns the slot, which holds `value` until told otherwise. A name that is taken is found by
  // its key alone.
  std::size_t add(Name name, double value);
  // A name that stands for an expression of others.
  void define(const std::string& name, std::string_view expression);

  std::optional<std::size_t> find(std::string_view name) const;
  const Expression* definition(std::string_view name) const;
  const Name& operator[](std::size_t slot) const { return names_.at(slot); }
  Name& operator[](std::size_t slot) { return names_.at(slot); }
  std::vector<std::string_view> all() const;

  double number_of(const std::string& text);  // always the same for the same text
  std::vector<double>& values() { return values_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<Name> names_;
  std::vector<double> values_;
  std::map<std::string, std::size_t, std::less<>> slots_;
  std::map<std::string, Expression, std::less<>> definitions_;
  std::map<std::string, double> texts_;
};

// An expression made ready to be worked out for very many candidates.
class Program {
 public:
  // Throws ExpressionError where names are unknown or types do not go together.
  Program(const Expression& expression, Names& names);

  Type type() const { return type_; }
  const std::set<std::size_t>& slots() const { return slots_; }  // that it reads

  // Throws ExpressionError where it divides by 0.
  double operator()(std::span<const double> values) const;
  bool holds(std::span<const double> values) const { return (*this)(values) != 0; }

 private:
  struct Step {
    Expression::Op op = Expression::Op::number;
    std::uint32_t argument = 0;  // a slot, where to jump, or the column
    double number = 0;
  };

  Type compile(const Expression& expression, Names& names);
  Type compile_name(const Expression& expression, Names& names);
  Type compile_logical(const Expression& expression, Names& names);
  void emit(Expression::Op op, std::size_t argument = 0, double number = 0);

  Type type_ = Type::number;
  std::vector<Step> steps_;
  std::set<std::size_t> slots_;
};

}  // namespace pipewright::search
