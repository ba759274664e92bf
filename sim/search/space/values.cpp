#include "sim/search/space/values.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/config/text/yaml.hpp"
#include "sim/search/space/keys.hpp"

namespace pipewright::search {

using config::Entry;
using config::Value;

Value& at_path(Value& root, const std::vector<std::size_t>& path) {
  Value* place = &root;
  for (const std::size_t i : path)
    place = place->kind == Value::Kind::list ? &place->items.at(i) : &place->entries.at(i).value;
  return *place;
}

std::vector<Scalar> scalars(const Value& value, const std::string& key) {
  if (value.kind == Value::Kind::text) return {{key, value.text}};
  std::vector<Scalar> result;
  for (const Entry& entry : value.entries) {
    const std::string inner = canonical_key(key.empty() ? entry.key : key + "." + entry.key);
    std::ranges::move(scalars(entry.value, inner), std::back_inserter(result));
  }
  return result;
}

std::string line_of(const Value& value) {
  if (value.kind == Value::Kind::text) return value.text;
  Value list;
  list.kind = Value::Kind::list;
  list.items.push_back(value);
  const std::string text = config::to_yaml(list);  // "[...]\n"
  return text.substr(1, text.size() - 3);
}

Value without_origins(Value value) {
  value.origin = {};
  for (Value& item : value.items) item = without_origins(std::move(item));
  for (Entry& entry : value.entries) {
    entry.origin = {};
    entry.value = without_origins(std::move(entry.value));
  }
  return value;
}

}  // namespace pipewright::search
