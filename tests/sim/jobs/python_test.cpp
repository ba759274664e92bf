#include <catch2/catch.hpp>

#include "sim/config/text/error.hpp"
#include "sim/jobs/python/builtins.hpp"
#include "sim/jobs/python/interpreter.hpp"

using namespace pipewright;
using namespace pipewright::jobs;

namespace {

// Text of a module's name after its statements ran; "?" if only a running program knows.
std::string value_after(const std::string& text, const std::string& name = "x") {
  python::Interpreter interpreter({}, {});
  const auto module = interpreter.load("m.py", text);
  const std::optional<python::Value> value = interpreter.find(module, name);
  return value ? python::text_of(*value).value_or("?") : "none";
}

}  // namespace

TEST_CASE("expressions of Python have Python's results", "[jobs][python]") {
  CHECK(value_after("x = 7 // 2 + 2 ** 3 - -1 % 3") == "9");  // 3 + 8 - 2
  CHECK(value_after("x = 1_000 if 3 in [1, 2, 3] else 0") == "1000");
  CHECK(value_after("x = f'{2 + 3}b' 'c' \"\"\"d\"\"\"") == "5bcd");
  CHECK(value_after("x = 1 < 2 <= 2 != 3") == "True");
  CHECK(value_after("x = None or 0 or 'a'") == "a");
  CHECK(value_after("a, *b = range(5)\nx = b[-1] + len(b[1:])") == "7");  // 4 + 3
  CHECK(value_after("x = {**{'a': 1}, 'b': 2}.get('b', 5)") == "2");
  CHECK(value_after("x = ','.join(sorted(str(i) for i in [3, 1] if i != 2))") == "1,3");
  CHECK(value_after("x = sum([i for i in range(10) if i % 2])") == "25");
  CHECK(value_after("x = 'fp8_cs'.replace('_', '').upper()") == "FP8CS");
  CHECK(value_after("x = 'a.b.c'.rsplit('.', 1)[0] + 'd'.rsplit('.', 1)[-1]") == "a.bd");
  CHECK(value_after("x = isinstance('a', (int, str))") == "True");
  CHECK(value_after("x = int('12') + round(2.6) + max(3, 4)") == "19");
  CHECK(value_after("x = (lambda a, b=2: a * b)(4)") == "8");
}

TEST_CASE("statements of Python run in their order", "[jobs][python]") {
  CHECK(value_after("x = 0\nfor i in [1, 2, 3]:\n    if i == 2:\n        continue\n    x += i\n") ==
        "4");
  CHECK(value_after("x = 1\nwhile x < 100:\n    x *= 3\n    if x == 27: break\n") == "27");
  CHECK(value_after("def f(a, b=2, *rest, c=3, **more):\n"
                    "    return a + b + sum(rest) + c + more['d']\n"
                    "x = f(1, 1, 5, c=10, **{'d': 100})\n") == "117");
  CHECK(value_after("def outer():\n    n = 5\n    def inner(): return n\n    return inner\n"
                    "x = outer()()\n") == "5");
  CHECK(value_after("def f():\n    try:\n        raise ValueError('no')\n"
                    "    except (KeyError, ValueError):\n        return 1\n    return 2\n"
                    "x = f()\n") == "1");
  CHECK(value_after("from dataclasses import dataclass, field\n"
                    "@dataclass\nclass A:\n    n: int = 3\n"
                    "    l: list = field(default_factory=list)\n\n"
                    "    def __post_init__(self):\n        self.l.append(self.n)\n\n"
                    "    @property\n    def twice(self):\n        return 2 * self.n\n"
                    "@dataclass\nclass B(A):\n    m: int = 4\n"
                    "b = B(n=5)\nx = b.twice + b.m + b.l[0]\n") == "19");  // 10 + 4 + 5
  CHECK(value_after("from functools import partial\ndef f(a, b): return a - b\n"
                    "x = partial(f, b=1)(5)\n") == "4");
}

TEST_CASE("what only a running program knows makes the values below unknown", "[jobs][python]") {
  const std::string check = "import torch\nx = 1\ny = 2\nif torch.cuda.is_available():\n";
  CHECK(value_after(check + "    x = 3\n") == "?");
  CHECK(value_after(check + "    x = 1\n") == "1");  // the same with and without
  CHECK(value_after(check + "    x = 3\n", "y") == "2");
  CHECK(value_after(check + "    raise ValueError('no GPU')\n") == "1");
  CHECK(value_after("import torch\nx = torch.bfloat16\n") == "torch.bfloat16");
  CHECK(value_after("import torch\nx = torch.cuda.is_available() and False\n") == "False");
  CHECK(value_after("def f(n): return n + 1\nx = f(unknown())\n") == "?");
  CHECK(value_after("a = ['b']\na.extend(['c'] * unknown())\nx = ','.join(a)\n") == "?");
  const std::string choice =
      "import torch\ndef f():\n    if torch.cuda.is_available():\n        return 1\n";
  CHECK(value_after(choice + "    return 2\nx = f()\n") == "?");
  // A function that raises otherwise has returned.
  CHECK(value_after(choice + "    raise ValueError('no GPU')\nx = f()\n") == "1");
}

TEST_CASE("text that is not Python is refused with its place", "[jobs][python]") {
  const auto load = [](const std::string& text) { python::Interpreter({}, {}).load("m.py", text); };
  CHECK_THROWS_WITH(load("x = (1,\n"), Catch::Contains("m.py:2:"));
  CHECK_THROWS_WITH(load("x = 'a\n"), Catch::Contains("unterminated string literal"));
  CHECK_THROWS_WITH(load("if a:\n    b\n  c\n"), Catch::Contains("m.py:3:3: unindent"));
  CHECK_THROWS_WITH(load("x = ?\n"), Catch::Contains("the character '?' is not part of Python"));
  CHECK_THROWS_WITH(load("x = 1 +\n"), Catch::Contains("m.py:1:8: expected an expression"));
  CHECK_THROWS_WITH(load("async def f(): pass\n"), Catch::Contains("async are not read"));
  CHECK_THROWS_WITH(load("x = " + std::string(500, '(')), Catch::Contains("nesting is too deep"));
  CHECK_THROWS_WITH(load("x = " + std::string(500, '-') + "1"),
                    Catch::Contains("nesting is too deep"));
  CHECK_THROWS_WITH(load("while True:\n    while True:\n        x = 1\n"),
                    Catch::Contains("the recipe takes too many steps to read"));
}

TEST_CASE("calls without end or of themselves end as unknown", "[jobs][python]") {
  CHECK(value_after("def f(n): return f(n + 1)\nx = f(0)\n") == "?");
  CHECK(value_after("x = [0] * 10 ** 12\n") == "?");
  CHECK(value_after("x = 'a' * 10 ** 12\n") == "?");
  CHECK(value_after("from m import y as x\n") == "m.y");
}
