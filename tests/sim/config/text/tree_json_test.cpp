#include "sim/config/text/tree_json.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/config/text/yaml.hpp"

using namespace pipewright::config;

namespace {

bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind || !(a.origin == b.origin) || a.text != b.text ||
      a.items.size() != b.items.size() || a.entries.size() != b.entries.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i)
    if (a.entries[i].key != b.entries[i].key || !(a.entries[i].origin == b.entries[i].origin) ||
        !same(a.entries[i].value, b.entries[i].value))
      return false;
  return true;
}

}  // namespace

TEST_CASE("a tree that is written to JSON reads as the same tree with the same places",
          "[config]") {
  const Value tree = read_yaml_text(
      "devices: 4\nparallel: {tp: 2, cp: 1}\nschedule:\n  - 1f1b\n  - {name: gpipe}\nempty: {}\n",
      "a.yaml");
  CHECK(same(tree_from_json(tree_to_json(tree)), tree));
  CHECK(same(tree_from_json(nlohmann::json::parse(tree_to_json(tree).dump())), tree));
}
