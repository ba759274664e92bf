#include "sim/sweep/scenario_tree.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/base/numbers.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::search {
namespace {

using config::Entry;
using config::Value;

bool is_open_as_whole(const config::KeyRow& row) {
  return row.value.type == config::ValueType::library ||
         row.value.type == config::ValueType::schedule;
}

const config::KeyRow* find_row(std::string_view name) {
  const auto row = std::ranges::find(scenario_rows(), name, &config::KeyRow::name);
  return row == scenario_rows().end() ? nullptr : &*row;
}

bool is_number(std::string_view text) { return base::parse_number<double>(text).has_value(); }

// Returns whether a value is a list of numbers of a key whose choices are words. It is no list of
// choices then, but a single value, such as the stages by device of parallel.unshard_lookahead.
bool is_list_of_numbers(const config::ValueInfo& info, const Value& value) {
  return info.type == config::ValueType::choice && value.kind == Value::Kind::list &&
         !value.items.empty() && std::ranges::none_of(info.choices, is_number) &&
         std::ranges::all_of(value.items, [](const Value& item) {
           return item.kind == Value::Kind::text && is_number(item.text);
         });
}

}  // namespace

const std::vector<config::KeyRow>& scenario_rows() {
  static const std::vector<config::KeyRow> rows = config::scenario_keys();
  return rows;
}

std::string canonical_key(std::string_view key) {
  if (key == "parallel.pipeline") return "parallel.pp";
  const std::size_t stem = key.rfind('.') + 1;  // 0 without a dot
  for (const config::KeyRow& row : scenario_rows()) {
    if (row.info.alias.empty()) continue;
    const std::string_view prefix(row.name.data(), row.name.size() - row.info.name.size());
    if (key.substr(0, stem) == prefix && key.substr(stem) == row.info.alias) return row.name;
  }
  return std::string(key);
}

bool is_key(std::string_view key) { return find_row(key) != nullptr; }

bool takes_list(std::string_view key, const Value& value) {
  const config::KeyRow* const row = find_row(key);
  if (row != nullptr && is_list_of_numbers(row->value, value)) return true;
  if (row == nullptr || !row->value.list || is_open_as_whole(*row)) return false;
  const auto& names = row->value.list_choices;
  return names.empty() || std::ranges::all_of(value.items, [&](const Value& item) {
           return std::ranges::find(names, item.text) != names.end();
         });
}

bool is_whole(std::string_view key) {
  const config::KeyRow* const row = find_row(key);
  return row != nullptr && is_open_as_whole(*row);
}

bool is_in_whole(std::string_view key) {
  return key.find('.') != std::string_view::npos && is_whole(key.substr(0, key.find('.')));
}

Value& at_path(Value& root, const std::vector<std::size_t>& path) {
  Value* value = &root;
  for (const std::size_t i : path)
    value = value->kind == Value::Kind::list ? &value->items.at(i) : &value->entries.at(i).value;
  return *value;
}

namespace {

// Returns tp and pp for a list of the tp of each device: tp is the mean of the list and pp its
// length, so that tp * pp is the number of GPUs.
std::vector<Scalar> tp_and_pp(const Value& list) {
  double sum = 0;
  for (const Value& item : list.items) {
    const char* const end = item.text.data() + item.text.size();
    std::uint32_t tp = 0;
    if (item.kind != Value::Kind::text || std::from_chars(item.text.data(), end, tp).ptr != end)
      return {};
    sum += tp;
  }
  if (list.items.empty()) return {};
  const std::size_t count = list.items.size();
  return {{"parallel.tp", fmt::format("{}", sum / static_cast<double>(count))},
          {"parallel.pp", fmt::format("{}", count)}};
}

}  // namespace

std::vector<Scalar> scalars(const Value& value, const std::string& key) {
  if (value.kind == Value::Kind::text) return {{key, value.text}};
  if (value.kind == Value::Kind::list && key == "parallel.tp_by_device") return tp_and_pp(value);
  std::vector<Scalar> result;
  for (const Entry& entry : value.entries) {
    const std::string inner = canonical_key(key.empty() ? entry.key : key + "." + entry.key);
    std::ranges::move(scalars(entry.value, inner), std::back_inserter(result));
  }
  return result;
}

bool is_auto(const Value& value) { return value.kind == Value::Kind::text && value.text == "auto"; }

std::string line_of(const Value& value) {
  if (value.kind == Value::Kind::text) return value.text;
  Value list;
  list.kind = Value::Kind::list;
  list.items.push_back(value);
  const std::string text = config::to_yaml(list);  // "[...]\n"
  return text.substr(1, text.size() - 3);
}

void drop_unused_cp_sizes(Value& scenario) {
  Value* const parallel = config::find(scenario, "parallel");
  if (parallel == nullptr) return;
  const Value* const kind = config::find(*parallel, "cp_comm_type");
  if (kind != nullptr &&
      kind->text == base::name_of(config::context_comm_names, config::ContextComm::a2a_p2p))
    return;
  std::erase_if(parallel->entries, [](const Entry& entry) {
    return entry.key == "hierarchical_context_parallel_sizes";
  });
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
