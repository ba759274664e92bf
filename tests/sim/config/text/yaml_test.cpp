#include "sim/config/text/yaml.hpp"

#include <random>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

Value read(std::string_view text) { return read_yaml_text(text, "t"); }
std::string error(std::string_view text) {
  return error_of([&] { read(text); });
}

TEST_CASE("null is a value in foreign documents and never a key") {
  Document document = scenario_document;
  document.is_foreign = true;
  const Value root = read_yaml_text(R"({"a": null, "b": [1, null], "c": ~})", "t", document);
  CHECK(find(root, "a")->text == null_text);
  CHECK(find(root, "b")->items[1].text == null_text);
  CHECK(find(root, "c")->text == null_text);
  CHECK_THAT(error_of([&] { read_yaml_text("~: 1", "t", document); }),
             Catch::Contains("a key is empty (null)"));
}

TEST_CASE("a file becomes a tree whose values have places") {
  const Folder folder;
  const std::string path = folder.write("a.yaml",
                                        "devices: 8  # a comment\n"
                                        "schedule:\n"
                                        "  - 1f1b\n"
                                        "  - {name: gpipe, chunks: \"2\"}\n");
  const Value root = read_yaml_file(path);
  REQUIRE(root.kind == Value::Kind::map);
  REQUIRE(root.entries.size() == 2);
  CHECK(root.entries[0].key == "devices");
  CHECK(root.entries[0].value.text == "8");
  CHECK(to_string(root.entries[0].value.origin) == path + ":1:10");
  CHECK(to_string(root.entries[1].origin) == path + ":2:1");
  const Value& list = root.entries[1].value;
  REQUIRE(list.items.size() == 2);
  CHECK(list.items[0].text == "1f1b");
  REQUIRE(find(list.items[1], "chunks") != nullptr);
  CHECK(find(list.items[1], "chunks")->text == "2");
  CHECK(to_string(find(list.items[1], "chunks")->origin) == path + ":4:27");
  CHECK(find(list.items[1], "chunks")->origin.folder == folder.path());
  CHECK(find(root, "nothing") == nullptr);
}

TEST_CASE("JSON is read in compact form and with tabs") {
  const Value expected = read("{a: [1, 2.5], b: {c: d}, e: true}");
  CHECK(same(read(R"({"a":[1,2.5],"b":{"c":"d"},"e":true})"), expected));
  CHECK(
      same(read("{\n\t\"a\": [\n\t\t1,\n\t\t2.5\n\t],\n\t\"b\": {\"c\": \"d\"},\n\t\"e\": true\n}"),
           expected));
  CHECK(read(R"(["\u00b5s", "a\/b"])").items.at(0).text == "\u00b5s");
}

TEST_CASE("line ends of any system, a byte order mark and aliases change nothing") {
  const Value expected = read("a: [1, 2]\nb: [1, 2]\n");
  CHECK(same(read("a: [1, 2]\r\nb: [1, 2]\r\n"), expected));
  CHECK(same(read("\xef\xbb\xbf"
                  "a: [1, 2]\nb: [1, 2]\n"),
             expected));
  CHECK(same(read("a: &list [1, 2]\nb: *list\n"), expected));
  CHECK(same(read("%YAML 1.2\n---\na: [1, 2]\nb: [1, 2]\n...\n"), expected));
  CHECK(read("\"null\"").text == "null");
}

TEST_CASE("every fault of a text has a message with its place") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"a: 1\nb: 2\na: 3",
       "t:3:1: key 'a' stands twice in one map; leave out one; the first is at t:1:1"},
      {R"({"a": {"b": 1, "b": 2}})",
       "t:1:16: key 'b' stands twice in one map; leave out one; the first is at t:1:8"},
      {"",
       "t: the file is empty; allowed: a scenario, a map with at least microbatches, and a model "
       "or devices and forward_times"},
      {"# only\n",
       "t: the file is empty; allowed: a scenario, a map with at least microbatches, and a model "
       "or devices and forward_times"},
      {"---\n",
       "t: the file is empty; allowed: a scenario, a map with at least microbatches, and a model "
       "or devices and forward_times"},
      {"a: 1\n---\nb: 2\n",
       "t:2:1: text follows the end of the document; allowed: a scenario of one document"},
      {"[a],", "t:1:4: text follows the end of the document; allowed: a scenario of one document"},
      {",a", "t:1:1: no value begins here; allowed: lines such as devices: 8"},
      {"a:\nb: 1", "t:2:1: a has no value (null); write one, or leave the key out"},
      {"a: ~", "t:1:4: a has no value (null); write one, or leave the key out"},
      {R"({"a": null})", "t:1:7: a has no value (null); write one, or leave the key out"},
      {"a: [1, 2\n",
       "t:1:8: 2 has no value (null); write one, or leave the key out (or is a "
       "closing bracket missing?)"},
      {"[1, ~]", "t:1:5: a list item is empty (null); write a value or leave it out"},
      {"~: 1", "t:1:1: a key is empty (null); allowed: texts such as devices"},
      {"? [a]\n: 1",
       "t:1:3: a list or a map stands where a key should be; allowed: texts such as devices (or is "
       "a closing bracket missing?)"},
      {"{a: 1",
       "t:1:1: a list or a map stands where a key should be; allowed: texts such as devices (or is "
       "a closing bracket missing?)"},
      {"a: &x [1]\n*x : 2",
       "t:2:1: a list or a map stands where a key should be; allowed: texts such as devices (or is "
       "a closing bracket missing?)"},
      {"a: &x [*x]", "t:1:8: an alias stands inside the value it repeats"},
      {"a: !include b",
       "t:1:4: tag '!include' has no meaning here; write plain texts, lists and "
       "maps"},
      {"a: b\x01",
       "t:1:5: byte 0x01 is a control character; allowed: a scenario in plain UTF-8 text"},
      {"a: 1\n\x04 b: 2",
       "t:2:1: byte 0x04 is a control character; allowed: a scenario in plain UTF-8 text"},
      {"a: \"\\x04\"",
       "t:1:4: byte 0x04 is a control character; allowed: a scenario in plain UTF-8 text"},
      {"a: 1\nb: \xff", "t:2:4: byte 0xff is not UTF-8; allowed: a scenario in plain UTF-8 text"},
      {"a: b: c",
       "t:1:5: YAML syntax: illegal map value; write key: value, one per line, with quotes around "
       "texts that contain ': '"},
      {"a: [1, 2\nb: 3",
       "t:2:2: YAML syntax: end of sequence flow not found; close the list with ] and separate its "
       "values by commas"},
      {"a: {b: 1\nc: 3",
       "t:2:2: YAML syntax: end of map flow not found; close the map with } and separate its keys "
       "by commas"},
      {"a: 1\n,b",
       "t:2:1: YAML syntax: end of map not found; write key: value and begin all keys "
       "of a map in one column"},
      {"a: 1\n\tb: 2", "t:2:1: a tab indents this line; indent with spaces"},
      {"a: \"b", "t:1:6: YAML syntax: illegal EOF in scalar; close the quotes"},
      {"a: @b",
       "t:1:4: YAML syntax: unknown token; a scenario is YAML or JSON, with lines such as "
       "devices: 8"},
  }));
  CAPTURE(text);
  CHECK(error(text) == message);
}

TEST_CASE("invalid UTF-8 is refused") {
  for (const std::string bad :
       {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xe2\x82", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3(", "\xe2\x82(", "\xf0\x9f\x98("}) {
    CAPTURE(bad);
    CHECK_THAT(error("a: " + bad), Catch::StartsWith("t:1:4: ") && Catch::Contains("not UTF-8"));
  }
  for (const std::string good : {"\u00b5", "\u20ac", "\ud7ff", "\ue000", "\U0001f600"})
    CHECK(read("a: " + good).entries.at(0).value.text == good);
}

TEST_CASE("hostile texts end in an error after a short time") {
  const auto repeat = [](std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
  };
  CHECK(error(repeat("[", 10'000'000)) ==
        "t: a scenario of more than 4 MiB; allowed: at most 4 MiB");
  CHECK(error(repeat("[", 4'000'000)) == "t:1:1001: nested too deeply; allowed: 64 levels");
  CHECK(error(repeat("- ", 2'000'000)) == "t:1:129: nested too deeply; allowed: 64 levels");
  CHECK(error(repeat("[", 65) + repeat("]", 65)) ==
        "t:1:65: nested too deeply; allowed: 64 levels");
  CHECK(error(repeat("[", 64) + repeat("]", 64)).empty());
  CHECK(error("a: [" + repeat("1,", 1'000'001) + "]") ==
        "t:1:1999999: too many values; allowed: at most 1000000");
  CHECK(error(repeat(",[]", 1'000'000)) ==
        "t:1:1: no value begins here; allowed: lines such as devices: 8");

  // Each line refers nine times to the line before, so the number of values grows to 9^20.
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string before = fmt::format("*a{}", i - 1);
    bomb += fmt::format("a{0}: &a{0} [{1}{2}]\n", i, before, repeat(", " + before, 8));
  }
  CHECK_THAT(error(bomb), Catch::Contains("too many values; allowed: at most 1000000"));
  std::string nested;
  for (int i = 0; i < 60; ++i) nested += fmt::format("&a{} [", i);
  CHECK_THAT(error(nested + repeat("1,", 20'000) + repeat("]", 60)),
             Catch::Contains("too many values; allowed: at most 1000000"));
  std::string deep = "a0: &a0 [1]\n";
  for (int i = 1; i < 70; ++i) deep += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  CHECK_THAT(error(deep), Catch::Contains("nested too deeply"));
}

TEST_CASE("an unreadable file is refused with its name") {
  const Folder folder;
  const std::string base = folder.path().string();
  const std::string advice = "); give a scenario file in YAML or JSON";
  const auto file_error = [](const std::string& path) {
    return error_of([&] { read_yaml_file(path); });
  };
  CHECK(file_error(base + "/none.yaml") ==
        base + "/none.yaml: cannot be read (No such file or directory" + advice);
  CHECK(file_error(base) == base + ": cannot be read (it is a folder" + advice);
  const std::string file = folder.write("a.yaml", "a: 1");
  CHECK(file_error(file + "/b") == file + "/b: cannot be read (Not a directory" + advice);
  CHECK(file_error(folder.write("big.yaml", std::string(max_bytes + 1, ' '))) ==
        base + "/big.yaml: a scenario of more than 4 MiB; allowed: at most 4 MiB");
  CHECK(file_error(folder.write("junk", std::string("\x7f"
                                                    "ELF\0\1",
                                                    6))) ==
        base +
            "/junk:1:1: byte 0x7f is a control character; allowed: a scenario in plain UTF-8 text");
}

TEST_CASE("a tree is written in one canonical form") {
  CHECK(to_yaml(read("{\"a\": 18.5 ms, 'b': [1, {c: [], d: {}}], e: {f: {g: h}}, i: {}}")) ==
        "a: 18.5 ms\n"
        "b: [1, {c: [], d: {}}]\n"
        "e:\n"
        "  f:\n"
        "    g: h\n"
        "i: {}\n");
  CHECK(to_yaml(read("[../x, 'a: b', '', 'null', \"q\\\"\\\\\\n\", 40 %, '5 µs', /x, ' a']")) ==
        "[\"../x\", \"a: b\", \"\", \"null\", \"q\\\"\\\\\\n\", 40 %, 5 µs, /x, \" a\"]\n");
}

// Returns a random tree of values whose texts need quotes or escapes in YAML.
Value random_tree(std::mt19937& random, int levels) {
  const auto text = [&] {
    static const std::vector<std::string> parts{
        "a",      "1",      ".",          "-",  " ", ":", "#", "\"", "'",   "\\",
        "\n",     "\t",     "\r",         "[",  "{", ",", "&", "*",  "!",   "%",
        "null",   "~",      "µ",          "€",  "?", "|", ">", "@",  "---", "\u0085",
        "\u2028", "\ufeff", "\U0001f600", "<<", "=", "`", "}", "]"};
    std::string result;
    for (auto n = random() % 5; n > 0; --n) result += parts[random() % parts.size()];
    return result;
  };
  Value value;
  switch (levels == 0 ? 0 : random() % 3) {
    case 0:
      return make_text(text(), {});
    case 1:
      value.kind = Value::Kind::list;
      for (auto n = random() % 4; n > 0; --n)
        value.items.push_back(random_tree(random, levels - 1));
      return value;
    default:
      value.kind = Value::Kind::map;
      for (auto n = random() % 4; n > 0; --n)
        if (const std::string key = text(); find(value, key) == nullptr)
          value.entries.push_back({key, {}, random_tree(random, levels - 1)});
      return value;
  }
}

TEST_CASE("every written tree reads as the same tree") {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const Value tree = random_tree(random, 4);
    const std::string text = to_yaml(tree);
    CAPTURE(text);
    REQUIRE(same(read(text), tree));
    REQUIRE(to_yaml(read(text)) == text);
  }
}

}  // namespace
}  // namespace pipewright::config::test
