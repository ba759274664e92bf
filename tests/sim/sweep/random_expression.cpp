#include "tests/sim/sweep/random_expression.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace pipewright::search::test {
namespace {

using tests::Random;
using Numbers = double (*)(double, double);

enum Level { disjunction, conjunction, negation, comparison, sum, product, unary, value };

template <class Items>
const auto& one_of(Random& random, const Items& items) {
  return items[random.whole(0, static_cast<std::uint32_t>(items.size()) - 1)];
}

// Returns an operand as text, in parentheses if its operators bind less tightly than `level`, and
// sometimes without need.
std::string part(Random& random, const RandomExpression& expression, int level) {
  const bool needed = expression.level < level;
  return needed || random.whole(0, 5) == 0 ? "(" + expression.text + ")" : expression.text;
}

std::string spaced(Random& random, const std::string& sign) {
  const bool word = sign == "and" || sign == "or";
  return word || random.flip() ? " " + sign + " " : sign;
}

// Joins two expressions by a left-associative operator, so the right operand has to bind more
// tightly.
RandomExpression binary(Random& random, const std::string& sign, int level, Numbers meaning,
                        const RandomExpression& a, const RandomExpression& b, int left_level) {
  return {part(random, a, left_level) + spaced(random, sign) + part(random, b, level + 1),
          [meaning, x = a.value, y = b.value](const Meaning& m) { return meaning(x(m), y(m)); },
          level};
}

RandomExpression number_leaf(Random& random, const Vocabulary& words) {
  if (random.whole(0, 2) == 0) {
    const auto number = random.whole(1, 12);
    return {std::to_string(number), [number](const Meaning&) { return number; }, value};
  }
  const std::string name = one_of(random, words.numbers);
  return {name, [name](const Meaning& m) { return m.numbers.at(name); }, value};
}

RandomExpression truth_leaf(Random& random, const Vocabulary& words) {
  const auto kind = random.whole(0, 2);
  if (kind == 0 && !words.truths.empty()) {
    const std::string name = one_of(random, words.truths);
    return {name, [name](const Meaning& m) { return m.truths.at(name); }, value};
  }
  if (kind == 1 && !words.texts.empty()) {
    const auto& [name, texts] = *words.texts.begin();
    const std::string text = one_of(random, texts);
    const bool equal = random.flip();
    const char* const quote = random.flip() ? "'" : "\"";
    return {name + spaced(random, equal ? "==" : "!=") + quote + text + quote,
            [name = name, text, equal](const Meaning& m) {
              return (m.texts.at(name) == text) == equal ? 1.0 : 0.0;
            },
            comparison};
  }
  const bool truth = random.flip();
  return {truth ? "true" : "false", [truth](const Meaning&) { return truth ? 1.0 : 0.0; }, value};
}

}  // namespace

RandomExpression random_number(Random& random, const Vocabulary& words, int depth) {
  if (depth == 0) return number_leaf(random, words);
  const RandomExpression a = random_number(random, words, depth - 1);
  const RandomExpression b = random_number(random, words, depth - 1);
  switch (random.whole(0, 6)) {
    case 0:
      return binary(
          random, "+", sum, [](double x, double y) { return x + y; }, a, b, sum);
    case 1:
      return binary(
          random, "-", sum, [](double x, double y) { return x - y; }, a, b, sum);
    case 2:
      return binary(
          random, "*", product, [](double x, double y) { return x * y; }, a, b, product);
    case 3:
      return binary(
          random, "/", product, [](double x, double y) { return x / y; }, a,
          number_leaf(random, words), product);
    case 4:
      return binary(
          random, "%", product, [](double x, double y) { return std::fmod(x, y); }, a,
          number_leaf(random, words), product);
    case 5:
      return {"-" + part(random, a, unary), [x = a.value](const Meaning& m) { return -x(m); },
              unary};
    default: {
      const bool least = random.flip();
      return {std::string(least ? "min(" : "max(") + a.text + ", " + b.text + ")",
              [x = a.value, y = b.value, least](const Meaning& m) {
                return least ? std::min(x(m), y(m)) : std::max(x(m), y(m));
              },
              value};
    }
  }
}

RandomExpression random_truth(Random& random, const Vocabulary& words, int depth) {
  if (depth == 0) return truth_leaf(random, words);
  const auto kind = random.whole(0, 4);
  if (kind < 2) {
    struct Comparison {
      const char* sign;
      Numbers meaning;
    };
    static const std::array<Comparison, 6> comparisons{{
        {"<", [](double x, double y) { return x < y ? 1.0 : 0.0; }},
        {"<=", [](double x, double y) { return x <= y ? 1.0 : 0.0; }},
        {">", [](double x, double y) { return x > y ? 1.0 : 0.0; }},
        {">=", [](double x, double y) { return x >= y ? 1.0 : 0.0; }},
        {"==", [](double x, double y) { return x == y ? 1.0 : 0.0; }},
        {"!=", [](double x, double y) { return x != y ? 1.0 : 0.0; }},
    }};
    const auto [sign, meaning] = one_of(random, comparisons);
    return binary(random, sign, comparison, meaning, random_number(random, words, depth - 1),
                  random_number(random, words, depth - 1), sum);
  }
  const RandomExpression a = random_truth(random, words, depth - 1);
  const RandomExpression b = random_truth(random, words, depth - 1);
  if (kind == 2)
    return binary(
        random, random.flip() ? "and" : "&&", conjunction,
        [](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; }, a, b, conjunction);
  if (kind == 3)
    return binary(
        random, random.flip() ? "or" : "||", disjunction,
        [](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; }, a, b, disjunction);
  return {(random.flip() ? "not " : "!") + part(random, a, negation),
          [x = a.value](const Meaning& m) { return x(m) == 0 ? 1.0 : 0.0; }, negation};
}

}  // namespace pipewright::search::test
