#include "sim/config/text/tree_json.hpp"

#include <string>
#include <utility>

namespace pipewright::config {
namespace {

using nlohmann::json;

// Converts a location to JSON, [source, folder, line, column], or to null if it equals that of the
// enclosing value.
json origin_json(const Origin& origin, const Origin& enclosing) {
  if (origin == enclosing) return nullptr;
  return {origin.source, origin.folder, origin.line, origin.column};
}

Origin read_origin(const json& written, const Origin& enclosing) {
  if (written.is_null()) return enclosing;
  return {written.at(0), written.at(2), written.at(3), written.at(1)};
}

json to_json(const Value& value, const Origin& enclosing) {
  json origin = origin_json(value.origin, enclosing);
  if (value.kind == Value::Kind::text) return {std::move(origin), value.text};
  json inner = json::array();
  for (const Value& item : value.items) inner.push_back(to_json(item, value.origin));
  for (const Entry& entry : value.entries)
    inner.push_back(
        {entry.key, origin_json(entry.origin, value.origin), to_json(entry.value, entry.origin)});
  return {std::move(origin), value.kind == Value::Kind::list ? 1 : 2, std::move(inner)};
}

Value from_json(const json& written, const Origin& enclosing) {
  Value value;
  value.origin = read_origin(written.at(0), enclosing);
  if (written.at(1).is_string()) {
    value.kind = Value::Kind::text;
    value.text = written.at(1);
    return value;
  }
  value.kind = written.at(1) == 1 ? Value::Kind::list : Value::Kind::map;
  for (const json& inner : written.at(2)) {
    if (value.kind == Value::Kind::list) {
      value.items.push_back(from_json(inner, value.origin));
      continue;
    }
    Origin origin = read_origin(inner.at(1), value.origin);
    Value held = from_json(inner.at(2), origin);
    value.entries.push_back({inner.at(0), std::move(origin), std::move(held)});
  }
  return value;
}

}  // namespace

json tree_to_json(const Value& tree) { return to_json(tree, {}); }

Value tree_from_json(const json& json) {
  Value tree = from_json(json, {});
  set_origin_keys(tree, "");
  return tree;
}

}  // namespace pipewright::config
