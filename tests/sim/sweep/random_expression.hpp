#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/random.hpp"

namespace pipewright::search::test {

// Values of the names in an expression, for one candidate. False and true are 0 and 1.
struct Meaning {
  std::map<std::string, double> numbers;
  std::map<std::string, double> truths;
  std::map<std::string, std::string> texts;
};

// A random expression: its text, and a function that computes its value without parsing the text.
struct RandomExpression {
  std::string text;
  std::function<double(const Meaning&)> value;
  int level = 0;  // precedence of its operator, from 0 for `or`
};

// Names that a random expression may use. Names with texts as values also list these texts; numbers
// are at least 1.
struct Vocabulary {
  std::vector<std::string> numbers;
  std::vector<std::string> truths;
  std::map<std::string, std::vector<std::string>> texts;
};

RandomExpression random_number(tests::Random& random, const Vocabulary& words, int depth);
RandomExpression random_truth(tests::Random& random, const Vocabulary& words, int depth);

}  // namespace pipewright::search::test
