#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/search/space/expression.hpp"

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

}  // namespace pipewright::search
