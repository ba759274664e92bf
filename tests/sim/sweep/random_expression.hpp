#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/random.hpp"

namespace pipewright::search::test {

// What names mean for a candidate; truths are 0 or 1.
struct Meaning {
  std::map<std::string, double> numbers;
  std::map<std::string, double> truths;
  std::map<std::string, std::string> texts;
};

// An expression as text, and what it comes to by other means than reading it.
struct RandomExpression {
  std::string text;
  std::function<double(const Meaning&)> value;
  int level = 0;  // how tightly it binds, from 0 for `or`
};

// Names that it may use; a text has the values that it is compared with. Numbers are at least 1.
struct Vocabulary {
  std::vector<std::string> numbers;
  std::vector<std::string> truths;
  std::map<std::string, std::vector<std::string>> texts;
};

RandomExpression random_number(tests::Random& random, const Vocabulary& words, int depth);
RandomExpression random_truth(tests::Random& random, const Vocabulary& words, int depth);

}  // namespace pipewright::search::test
