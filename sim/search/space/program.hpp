#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "sim/search/space/names.hpp"

namespace pipewright::search {

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
