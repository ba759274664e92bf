#include "sim/sweep/constraints/expression.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "sim/sweep/constraints/program.hpp"
#include "tests/sim/sweep/random_expression.hpp"

namespace pipewright::search::test {
namespace {

Names some_names() {
  Names names;
  names.add({"tp", "parallel.tp", Type::number, ""}, 8);
  names.add({"pp", "parallel.pp", Type::number, ""}, 5);
  names.add({"one", "", Type::number, ""}, 1);
  names.add({"sp", "parallel.sp", Type::truth, ""}, 1);
  names.add({"schedule", "", Type::text, ""}, 0);
  names.values().back() = names.number_of("1f1b");
  names.add({"nodes", "", Type::number, "no cluster defines it"}, 0);
  names.define("gpus", "tp * pp");
  names.define("racks", "nodes / 4");
  return names;
}

double value_of(const std::string& text) {
  Names names = some_names();
  return Program(parse_expression(text), names)(names.values());
}

// Returns column and message of the error in an expression, such as "7: ...".
std::string fault_in(const std::string& text) {
  try {
    value_of(text);
  } catch (const ExpressionError& error) {
    return std::to_string(error.column) + ": " + error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("operators bind as in C, except for not", "[search][expression]") {
  CHECK(value_of("2 + 3 * 4") == 14);
  CHECK(value_of("(2 + 3) * 4") == 20);
  CHECK(value_of("20 - 5 - 3") == 12);
  CHECK(value_of("40 / 5 / 2") == 4);
  CHECK(value_of("-2 - -3") == 1);
  CHECK(value_of("17 % 5 * 2") == 4);
  CHECK(value_of("7 / 2") == 3.5);
  CHECK(value_of("1 + 1 == 2 and 3 < 4 or false") == 1);
  CHECK(value_of("true or true and false") == 1);
  CHECK(value_of("not 1 == 2") == 1);
  CHECK(value_of("!sp || not not sp") == 1);
  CHECK(value_of("not sp and false") == 0);
  CHECK(value_of("sp == (tp > 1)") == 1);
  CHECK(value_of("min(3, 1.5, 2) + max(4, 2e1)") == 21.5);
  CHECK(value_of("min(tp)") == 8);
}

TEST_CASE("names are values of a candidate or stand for expressions", "[search][expression]") {
  CHECK(value_of("tp <= 8 and parallel.tp == tp") == 1);
  CHECK(value_of("gpus == 40") == 1);
  CHECK(value_of("100 - gpus / 4") == 90);
  CHECK(value_of("schedule == '1f1b' && schedule != \"gpipe\"") == 1);
}

TEST_CASE("and and or evaluate their right side only if it matters", "[search][expression]") {
  CHECK(value_of("one == 1 or tp % (one - 1) == 0") == 1);
  CHECK(value_of("one != 1 and tp / (one - 1) == 0") == 0);
  CHECK(fault_in("tp % (one - 1) == 0") == "4: it divides by 0");
}

TEST_CASE("faults of an expression are reported with their column", "[search][expression]") {
  CHECK(fault_in("tp <= gpu_s") ==
        "7: unknown name 'gpu_s'; did you mean 'gpus'? allowed: tp, pp, one, sp, schedule, nodes, "
        "gpus, racks, and texts in quotes");
  CHECK(fault_in("nodes > 1") == "1: nodes is not known: no cluster defines it");
  CHECK(fault_in("tp > racks") == "6: racks: nodes is not known: no cluster defines it");
  CHECK(fault_in("tp == '8'") ==
        "4: == compares tp (a number) with the text '8'; both sides must have the same type");
  CHECK(fault_in("schedule < '1f1b'") ==
        "10: < compares numbers, not schedule (a text); compare texts with == or !=");
  CHECK(fault_in("tp and sp") ==
        "1: and takes truth values on either side, not tp (a number); write a comparison "
        "such as tp <= 8");
  CHECK(fault_in("not tp") ==
        "5: not takes truth values on its side, not tp (a number); write a comparison such "
        "as tp <= 8");
  CHECK(fault_in("1 + sp") == "5: + takes numbers on either side, not sp (a truth value)");
  CHECK(fault_in("1 <= tp <= 8") == "9: comparisons cannot be chained; write a <= b and b <= c");
  CHECK(fault_in("tp = 8") == "4: '=' is no comparison; write == for equal");
  CHECK(fault_in("sp & sp") == "4: '&' is no operator; write '&&' or 'and'");
  CHECK(fault_in("tp <=") ==
        "6: a value is missing before the end; write a name such as tp, a number or a 'text'");
  CHECK(fault_in("") ==
        "1: a value is missing before the end; write a name such as tp, a number or a 'text'");
  CHECK(fault_in("tp * * 2 == 1") ==
        "6: a value is missing before '*'; write a name such as tp, a number or a 'text'");
  CHECK(fault_in("(tp <= 8") ==
        "9: the end is not allowed here; close the parenthesis of column 1 first");
  CHECK(
      fault_in("tp 8") ==
      "4: '8' follows a complete expression; write an operator such as and, <= or * between them");
  CHECK(fault_in("ceil(tp)") == "1: 'ceil' is not a function; allowed: min and max");
  CHECK(fault_in("tp <= 8GiB") ==
        "8: 'G' follows a number; numbers have no units here, memory_gib is in GiB");
  CHECK(fault_in("schedule == '1f1b") ==
        "13: the text that begins here has no end; close its quotes");
  CHECK_THAT(fault_in("tp ^ 2"), Catch::StartsWith("4: '^' has no meaning here; allowed: + - *"));
  CHECK(fault_in("tp < 1e999") == "6: the number is out of range");
}

TEST_CASE("expressions that are too long or too deep are refused", "[search][expression]") {
  CHECK(fault_in(std::string(60, '(') + "tp").substr(0, 29) == "51: nested too deeply; 50 lev");
  CHECK_THAT(fault_in(std::string(60, '-') + "tp"), Catch::Contains("nested too deeply"));
  CHECK_THAT(fault_in(std::string(60, '!') + "sp"), Catch::Contains("nested too deeply"));
  std::string longest = "tp";
  while (longest.size() + 3 <= longest_expression) longest += "+tp";
  CHECK(value_of(longest) == 8.0 * static_cast<double>((longest.size() + 1) / 3));
  CHECK_THAT(fault_in(longest + "+tp"), Catch::Contains("more than the 4000 characters"));
  // Expressions nested this deeply use as much of the stack as nested parentheses may.
  std::string deep = "1";
  for (int i = 0; i < 45; ++i) deep = "(1 == 2) == (1 + 1 * (max(1, " + deep + ")) < 0)";
  CHECK_FALSE(fault_in(deep).empty());
  deep = "1";
  for (int i = 0; i < 20; ++i) deep = "1 + 2 * max(3 + 4 * 5, (" + deep + "))";
  CHECK(fault_in(deep).empty());
}

TEST_CASE("random expressions have the value that their construction gives",
          "[search][expression]") {
  tests::Random random(20);
  const Vocabulary words{{"tp", "pp", "one"}, {"sp"}, {{"schedule", {"1f1b", "gpipe"}}}};
  const Meaning meaning{{{"tp", 8}, {"pp", 5}, {"one", 1}}, {{"sp", 1}}, {{"schedule", "1f1b"}}};
  int truths = 0;
  for (int i = 0; i < 4000; ++i) {
    const int depth = static_cast<int>(random.whole(0, 5));
    const RandomExpression number = random_number(random, words, depth);
    if (number.text.size() < longest_expression) {
      INFO(number.text);
      const double expected = number.value(meaning);
      const double value = value_of(number.text);
      CHECK((value == expected || (std::isnan(value) && std::isnan(expected))));
    }
    const RandomExpression truth = random_truth(random, words, depth);
    if (truth.text.size() >= longest_expression) continue;
    INFO(truth.text);
    CHECK(value_of(truth.text) == truth.value(meaning));
    truths += truth.value(meaning) == 1;
  }
  CHECK(truths > 1000);
  CHECK(truths < 3000);
}

}  // namespace pipewright::search::test
