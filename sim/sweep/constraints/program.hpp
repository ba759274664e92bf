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

// A name that expressions may use. Its value has a slot in a candidate's list of values, which are
// doubles: truth values are 0 or 1, and every text has a number.
struct Name {
  std::string name;
  std::string key;  // scenario key with the same meaning, or empty
  Type type = Type::number;
  std::string unknown;             // why it has no value in this sweep, or empty
  std::vector<std::string> texts;  // possible values of a text; empty if unknown
  bool is_set = false;             // the sweep sets the key
};

class Names {
 public:
  // Adds a name with an initial value and returns its slot. If several keys have this name, it
  // stands for the one that the sweep sets, or for the first; the others can be found by their
  // whole keys only.
  std::size_t add(Name name, double value);
  // Returns the keys that a name may stand for equally well: several that the sweep sets, or
  // several of which it sets none. Empty if the name has one meaning.
  std::vector<std::string_view> keys_of_ambiguous(std::string_view name) const;
  // Adds a name that is an abbreviation of an expression, such as `gpus` of "tp * cp * pp * dp".
  void define(const std::string& name, std::string_view expression);

  std::optional<std::size_t> find(std::string_view name) const;
  const Expression* definition(std::string_view name) const;
  const Name& operator[](std::size_t slot) const { return names_.at(slot); }
  Name& operator[](std::size_t slot) { return names_.at(slot); }
  std::vector<std::string_view> list() const;

  double number_of(const std::string& text);  // a number that is unique to the text
  std::vector<double>& values() { return values_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<Name> names_;
  std::vector<double> values_;
  std::map<std::string, std::size_t, std::less<>> slots_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> keys_with_name_;
  std::map<std::string, Expression, std::less<>> definitions_;
  std::map<std::string, double> texts_;
};

// An expression that was compiled so that it can be evaluated quickly for very many candidates.
class Program {
 public:
  // Compiles the expression. Throws ExpressionError for unknown names and for operands whose types
  // do not match.
  Program(const Expression& expression, Names& names);

  Type type() const { return type_; }
  const std::set<std::size_t>& slots() const { return slots_; }  // slots that it reads

  // Evaluates the expression for a candidate with these values of names. Throws ExpressionError for
  // a division by 0.
  double operator()(std::span<const double> values) const;
  bool holds(std::span<const double> values) const { return (*this)(values) != 0; }

 private:
  struct Step {
    Expression::Op op = Expression::Op::number;
    std::uint32_t argument = 0;  // slot, target of a jump, or column
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
