#include <catch2/catch.hpp>

#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

const Origin flag{"--set", 0, 0, ""};

void apply_override(Value& root, std::string_view path, std::string_view text,
                    const Origin& origin) {
  set_value(root, path, read_yaml_value(text, origin));
}

std::string after(std::string_view before, std::string_view path, std::string_view text) {
  Value root = read_yaml_text(before, "t");
  apply_override(root, path, text, flag);
  return to_yaml(root);
}

TEST_CASE("an override replaces a value, adds a key and makes missing maps") {
  CHECK(after("a: 1", "a", "2") == "a: 2\n");
  CHECK(after("a: 1", "b", "2") == "a: 1\nb: 2\n");
  CHECK(after("{}", "a.b.c", "2") == "a:\n  b:\n    c: 2\n");
  CHECK(after("a: {b: 1, c: 2}", "a.c", "3") == "a:\n  b: 1\n  c: 3\n");
  CHECK(after("a: [1, {b: 2}]", "a.1.b", "3") == "a: [1, {b: 3}]\n");
  CHECK(after("a: [1, 2]", "a.0", "x") == "a: [x, 2]\n");
  CHECK(after("a: [1, 2]", "a", "x") == "a: x\n");
}

TEST_CASE("a value is found at its dotted path through maps") {
  const Value root = read_yaml_text("{a: {b: {c: 1}}, d: [2]}", "t");
  REQUIRE(value_at(root, "a.b.c") != nullptr);
  CHECK(value_at(root, "a.b.c")->text == "1");
  CHECK(value_at(root, "a.b") == find(*find(root, "a"), "b"));
  for (const char* const path : {"a.x", "a.b.c.x", "d.0", "x", "", "a.", "a..b"}) {
    CAPTURE(path);
    CHECK(value_at(root, path) == nullptr);
  }
}

TEST_CASE("the texts of a tree are listed by dotted keys") {
  using Texts = std::map<std::string, std::string>;
  const Value root = read_yaml_text("{a: {b: 1 ms, c: [x, y]}, d: []}", "t");
  CHECK(texts_by_key(root, "") == Texts{{"a.b", "1 ms"}, {"a.c", "x, y"}, {"d", "[]"}});
  CHECK(texts_by_key(*find(root, "a"), "s") == Texts{{"s.b", "1 ms"}, {"s.c", "x, y"}});
  CHECK(texts_by_key(make_text("x", {}), "s") == Texts{{"s", "x"}});
  CHECK(texts_by_key(read_yaml_text("{a: [{b: 1}, x, [y, z]]}", "t"), "") ==
        Texts{{"a.0.b", "1"}, {"a.1", "x"}, {"a.2", "y, z"}});
}

TEST_CASE("the text of an override is YAML") {
  CHECK(after("{}", "a", "[1, 2 ms]") == "a: [1, 2 ms]\n");
  CHECK(after("{}", "a", "{b: c}") == "a:\n  b: c\n");
  CHECK(after("{}", "a", "'[1]'") == "a: \"[1]\"\n");
}

TEST_CASE("all values of an override have its origin") {
  Value root = read_yaml_text("a: 1", "t");
  apply_override(root, "b.c", "[1, 2]", flag);
  CHECK(to_string(root.entries.at(1).origin) == "--set");
  CHECK(find(root, "b")->origin == flag);
  CHECK(find(*find(root, "b"), "c")->items.at(1).origin == flag);
  CHECK(to_string(find(root, "a")->origin) == "t:1:4");
}

TEST_CASE("every fault of an override has a message") {
  const auto [before, path, text,
              message] = GENERATE(table<std::string, std::string, std::string, std::string>({
      {"a: 1", "a.b", "2", "--set: a is 1, so 'b' cannot be set in it; set the whole of a"},
      {"a: {b: x}", "a.b.c", "2",
       "--set: a.b is the text 'x', so 'c' cannot be set in it; set the whole of a.b"},
      {"a: [1, 2]", "a.2", "3",
       "--set: a is a list and has no item '2'; allowed: 0 to 1, such as a.0"},
      {"a: [1, 2]", "a.b", "3",
       "--set: a is a list and has no item 'b'; allowed: 0 to 1, such as a.0"},
      {"a: [1, 2]", "a.-1", "3",
       "--set: a is a list and has no item '-1'; allowed: 0 to 1, such as a.0"},
      {"a: []", "a.0", "3", "--set: a is an empty list; set the whole list"},
      {"a: 1", "", "3",
       "--set: '' is no path; allowed: names joined by single dots, such as schedule.chunks"},
      {"a: 1", "a..b", "3",
       "--set: 'a..b' is no path; allowed: names joined by single dots, such as schedule.chunks"},
      {"a: 1", "a.", "3",
       "--set: 'a.' is no path; allowed: names joined by single dots, such as schedule.chunks"},
      {"x", "a", "3",
       "--set: the scenario is the text 'x', so 'a' cannot be set in it; set the whole of the "
       "scenario"},
      {"a: 1", "a", "", "--set: no value given"},
      {"a: 1", "a", "null", "--set: no value given"},
      {"a: 1", "a", "[1",
       "--set: a list or a map stands where a key should be; allowed: texts such as devices (or is "
       "a closing bracket missing?)"},
      {"a: 1", "a", "b: c: d",
       "--set: YAML syntax: illegal map value; write key: value, one per line, with quotes around "
       "texts that contain ': '"},
  }));
  CAPTURE(before, path, text);
  Value root = read_yaml_text(before, "t");
  CHECK(error_of([&, p = path, t = text] { apply_override(root, p, t, flag); }) == message);
}

TEST_CASE("a path with too many levels is refused") {
  Value root;
  std::string path = "a";
  for (int i = 1; i < 100'000; ++i) path += ".a";
  CHECK_THAT(error_of([&] { apply_override(root, path, "1", flag); }),
             Catch::EndsWith("is nested too deeply; allowed: 64 levels"));
}

TEST_CASE("values from a command line need no YAML") {
  Value root;
  set_value(root, "output", make_text("[x] #1: y.png", flag));
  set_value(root, "times", make_list({"1 ms", "2 ms"}, flag));
  CHECK(to_yaml(root) == "output: \"[x] #1: y.png\"\ntimes: [1 ms, 2 ms]\n");
}

}  // namespace
}  // namespace pipewright::config::test
