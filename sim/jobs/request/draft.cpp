#include "sim/jobs/request/draft.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/stack.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {
namespace {

// Short location: "train.sh:12", or "line 12" if the job is a single file.
std::string short_location(const config::Origin& origin, bool single) {
  if (single && origin.line > 0) return fmt::format("line {}", origin.line);
  const std::string file = std::filesystem::path(origin.source).filename().string();
  return origin.line > 0 ? fmt::format("{}:{}", file, origin.line) : file;
}

// Throws config::Error if a value is known only when the shell runs, such as the output of a
// command.
void check_is_known(const Setting& setting, const std::string& value) {
  const std::optional<std::string> unknown = unknown_in(value);
  if (!unknown) return;
  if (unknown->starts_with("$(("))
    throw refusal(setting, "it is computed from variables that the script does not set")
        .suggest("set them on the command line, as in NAME=8");
  if (unknown->starts_with("${"))
    throw refusal(setting,
                  fmt::format("its value is {}, which only a running shell knows", *unknown))
        .suggest("set its variables on the command line, as in NAME=8");
  if (unknown->find_first_of("$`") != std::string::npos)
    throw refusal(
        setting,
        fmt::format("its value is the output of the command {}, which is not run", *unknown))
        .suggest(
            "set the variable that holds it on the command line, as in NAME=8, or let bash run "
            "the script with --run-with-bash");
  throw refusal(setting, fmt::format("its value is ${}, which the script does not set", *unknown))
      .suggest(fmt::format("give it on the command line, as in {}=8", *unknown));
}

void sort_keys(config::Value& tree) {
  constexpr std::array<std::string_view, 9> order{"cluster",   "model",        "gpu",
                                                  "stack",     "parallel",     "schedule",
                                                  "partition", "global_batch", "training"};
  const auto rank = [&](const config::Entry& entry) {
    return std::ranges::find(order, entry.key) - order.begin();
  };
  std::ranges::stable_sort(tree.entries, {}, rank);
}

// Removes a dotted key, and the maps that are empty without it.
void erase_key(config::Value& map, std::string_view key) {
  const std::size_t dot = key.find('.');
  const std::string_view head = key.substr(0, dot);
  if (dot != std::string_view::npos) {
    config::Value* const section = config::find(map, head);
    if (section == nullptr) return;
    erase_key(*section, key.substr(dot + 1));
    if (!section->entries.empty()) return;
  }
  std::erase_if(map.entries, [&](const config::Entry& entry) { return entry.key == head; });
}

// Value that a scenario's key has if the scenario only names the stack; empty if the stack has no
// default for it.
std::string default_on(const config::Value& stack, std::string_view key) {
  if (key == "training.fused_loss")
    return config::read_stack({stack, "stack"}).fuses(config::Fusable::cross_entropy) ? "true"
                                                                                      : "false";
  const config::Value* const value = config::value_at(stack, key);
  return value == nullptr ? "" : value->text;
}

config::Value library_model(std::string_view name) {
  return config::read_yaml_file(config::library_file("models", name, ".yaml").string());
}

// Values of a setting; false for an empty list of a configuration, which is no flag without a
// value.
std::vector<std::string> values_of(const Setting& setting) {
  if (!setting.values.empty() || setting.written.starts_with("--")) return setting.values;
  return {"false"};
}

}  // namespace

std::string flag_name(std::string_view word) {
  std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string flag_of(std::string_view name) {
  std::string flag = fmt::format("--{}", name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

config::Error refusal(const Setting& setting, std::string_view message) {
  return config::Error(
      config::locate(setting.origin, fmt::format("{}: {}", readable(setting.written), message)));
}

config::Error refusal(const Request& request, std::string_view message) {
  return config::Error(fmt::format("{}: {}", request.name, message));
}

config::Error gpus_refusal(const Request& request, std::string_view message) {
  config::Origin origin = request.gpus_origin;
  if (origin.source.empty()) origin.source = request.name;
  return config::Error(config::locate(origin, message));
}

void check_has_value(const Setting& setting, std::string_view allowed) {
  if (!setting.values.empty() && !setting.values.front().empty()) return;
  throw refusal(setting, "the value is empty")
      .allow(fmt::format("{}, or leave the setting out", allowed));
}

std::uint64_t whole_number(const Setting& setting) {
  const std::string first = setting.values.empty() ? "" : setting.values.front();
  check_is_known(setting, first);
  std::string digits = first;
  std::erase_if(digits, [](char c) { return c == '_' || c == ','; });
  const std::optional<std::uint64_t> value = base::parse_number<std::uint64_t>(digits);
  if (!value)
    throw refusal(setting, fmt::format("{} is not a whole number", config::in_quotes(first)));
  return *value;
}

Draft::Draft(Request request) : request_(std::move(request)) {
  job_.name = request_.name;
  job_.gpus = request_.gpus;
  job_.assumed = request_.assumed;
  job_.not_modelled = request_.not_followed;
  for (Note& note : job_.not_modelled) note.changes = Changes::unknown;
  job_.tree.origin = {.source = request_.name};
  if (!request_.model.empty()) model_ = library_model(request_.model);
}

Job Draft::take() {
  sort_keys(job_.tree);
  std::set<std::string_view> used;
  for (const Setting* const setting : read_)
    if (!reported_.contains(setting)) used.insert(setting->name);
  job_.used = used.size();
  return std::move(job_);
}

const Setting* Draft::find(std::string_view name) {
  const Setting* last = nullptr;
  for (const Setting& setting : request_.settings)
    if (setting.name == name) {
      read_.insert(&setting);
      last = &setting;
    }
  return last;
}

bool Draft::on(std::string_view name) {
  const Setting* const setting = find(name);
  return setting != nullptr && (setting->values.empty() || !is_off(setting->values.front()));
}

std::optional<std::uint64_t> Draft::count(std::string_view name) {
  const Setting* const setting = find(name);
  if (setting == nullptr) return std::nullopt;
  check_has_value(*setting, "a whole number");
  const std::string& value = setting->values.front();
  if (value == "None" || value == "null" || value == "~") return std::nullopt;
  return whole_number(*setting);
}

std::string Draft::text(std::string_view name, std::string_view otherwise) {
  const Setting* const setting = find(name);
  if (setting == nullptr || setting->values.empty()) return std::string(otherwise);
  check_is_known(*setting, setting->values.front());
  return setting->values.front();
}

double Draft::fraction(std::string_view name, double otherwise) {
  const Setting* const setting = find(name);
  if (setting == nullptr) return otherwise;
  if (is_off(text(name))) return 0;
  const std::optional<double> fraction = base::parse_number<double>(text(name));
  if (!fraction || *fraction < 0 || *fraction > 1)
    throw refusal(*setting, "a fraction is a number from 0 to 1, such as 0.5");
  return *fraction;
}

void Draft::set(std::string_view key, const std::string& text, const Setting& from) {
  check_is_known(from, text);
  set(key, config::make_text(text, from.origin), comment_of(from));
}

void Draft::set(std::string_view key, config::Value value, const Setting& from) {
  set(key, std::move(value), comment_of(from));
}

void Draft::set(std::string_view key, config::Value value, const std::string& comment) {
  if (!request_.model.empty() && key.starts_with("model.")) {
    // Values equal to those of the built-in model are left out; another sequence length belongs to
    // the training.
    const config::Value* const library_value = config::value_at(model_, key.substr(6));
    if (library_value != nullptr && library_value->text == value.text) return;
    if (key == "model.sequence") key = "training.sequence";
  }
  if (key == "model" && value.kind == config::Value::Kind::text && value.text != request_.model &&
      config::is_library_name(value.text, ".yaml"))
    model_ = library_model(value.text);
  // Keys of the stack stay a map of their own until name_stack() adds the stack that they change.
  if (key.starts_with("stack."))
    config::set_value(job_.tree, key, std::move(value));
  else
    config::set_key(job_.tree, key, std::move(value));
  // The published number of parameters is that of the library's model without changes.
  if (key.starts_with("model.") &&
      config::find(job_.tree, "model")->kind == config::Value::Kind::map)
    erase_key(job_.tree, "model.parameters");
  // A recipe whose modules get types of their own becomes the default of a map.
  if (key.starts_with("training.precision."))
    if (auto recipe = job_.comments.extract("training.precision")) {
      recipe.key() = "training.precision.default";
      job_.comments.insert(std::move(recipe));
    }
  job_.comments[std::string(key)] = readable(comment);
  job_.by_default.erase(std::string(key));
}

void Draft::set(std::string_view key, const std::string& text, const std::string& comment,
                const config::Origin& origin) {
  config::Origin from = origin;
  if (from.source.empty()) from.source = request_.name;
  set(key, config::make_text(text, from), comment);
}

void Draft::set_default(std::string_view key, const std::string& text, const std::string& comment) {
  set(key, text, comment);
  job_.by_default.insert(std::string(key));
}

namespace {

// Makes the stack of a job, whose complete map is `tree`, fuse the groups of kernels that the job
// fuses.
void change_fused(Job& job, const config::Value& tree) {
  auto fused = config::read_stack({tree, "stack"}).fused;
  const auto before = fused;
  std::vector<std::string> reasons;
  std::vector<std::string> groups;
  for (std::size_t i = 0; i < config::fusable_names.size(); ++i) {
    if (const auto row = job.fused.find(config::fusable_names.at(i)); row != job.fused.end()) {
      fused.set(i, row->second.is_fused);
      if (fused.test(i) != before.test(i)) reasons.push_back(row->second.comment);
    }
    if (fused.test(i)) groups.emplace_back(config::fusable_names.at(i));
  }
  if (fused == before) return;
  config::Value& own = *config::find(job.tree, "stack");
  if (own.kind == config::Value::Kind::text) {
    config::Value map{.kind = config::Value::Kind::map, .origin = own.origin};
    map.entries.push_back({"like", own.origin, own});
    own = std::move(map);
    if (auto comment = job.comments.extract("stack")) {
      comment.key() = "stack.like";
      job.comments.insert(std::move(comment));
    }
  }
  config::set_value(job.tree, "stack.fused", config::make_list(groups, {.source = job.name}));
  job.comments["stack.fused"] = fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace

void name_stack(Job& job, std::string_view stack) {
  const std::string comment = "framework of the job";
  const config::Origin origin{.source = job.name};
  const config::Value name = config::make_text(std::string(stack), origin);
  config::Value* const own = config::find(job.tree, "stack");
  if (own == nullptr) {
    job.tree.entries.push_back({"stack", origin, name});
    job.comments["stack"] = comment;
  } else if (own->kind == config::Value::Kind::map && config::find(*own, "like") == nullptr) {
    own->entries.insert(own->entries.begin(), {"like", origin, name});
    job.comments["stack.like"] = comment;
  }
  if (own != nullptr && own->kind == config::Value::Kind::map && own->entries.size() == 1) {
    *own = config::Value(own->entries.front().value);
    if (auto comment_of_like = job.comments.extract("stack.like")) {
      comment_of_like.key() = "stack";
      job.comments.insert(std::move(comment_of_like));
    }
  }
  const config::Value tree = config::stack_tree({*config::find(job.tree, "stack"), "stack"});
  change_fused(job, tree);
  for (const std::string& key : job.by_default) {
    const config::Value* const value = config::value_at(job.tree, key);
    if (value == nullptr || value->text != default_on(tree, key)) continue;
    erase_key(job.tree, key);
    job.comments.erase(key);
  }
  sort_keys(job.tree);
}

void Draft::drop(std::string_view key) {
  erase_key(job_.tree, key);
  job_.comments.erase(std::string(key));
}

const config::Value* Draft::at(std::string_view key) const {
  return config::value_at(job_.tree, key);
}

const config::Value* Draft::known(std::string_view key) const {
  const config::Value* const model = at("model");
  const bool is_by_name = model == nullptr || model->kind == config::Value::Kind::text;
  return is_by_name && key.starts_with("model.") ? config::value_at(model_, key.substr(6))
                                                 : at(key);
}

void Draft::fuse(config::Fusable group, bool is_fused, const Setting& from) {
  fuse(group, is_fused, comment_of(from));
}

void Draft::fuse(config::Fusable group, bool is_fused, const std::string& comment) {
  job_.fused[config::fusable_names.at(static_cast<std::size_t>(group))] = {is_fused,
                                                                           readable(comment)};
}

std::string Draft::comment_of(const Setting& setting) const {
  return setting.origin.source.empty()
             ? setting.written
             : fmt::format("{} ({})", setting.written,
                           short_location(setting.origin, request_.single));
}

std::uint64_t Draft::count_at(std::string_view key, std::uint64_t otherwise) const {
  const config::Value* const value = at(key);
  return value == nullptr ? otherwise
                          : base::parse_number<std::uint64_t>(value->text).value_or(otherwise);
}

std::uint64_t Draft::library_count(std::string_view key) const {
  const config::Value* const model = at("model");
  if (model == nullptr || model->kind != config::Value::Kind::text) return 0;
  const config::Value* const value = config::find(model_, key);
  return value == nullptr ? 0 : base::parse_number<std::uint64_t>(value->text).value_or(0);
}

bool Draft::model_has(std::string_view key) const {
  return known(fmt::format("model.{}", key)) != nullptr;
}

void Draft::assume(std::string sentence) { job_.assumed.push_back(std::move(sentence)); }
void Draft::lacks(std::string key) { job_.missing.push_back(std::move(key)); }

void Draft::without_effect(const Setting& setting, std::string_view why) {
  read_.insert(&setting);
  reported_.insert(&setting);
  job_.without_effect.push_back({.text = readable(setting.written),
                                 .origin = setting.origin,
                                 .changes = Changes::nothing,
                                 .why = std::string(why)});
}

void Draft::not_modelled(const Setting& setting, Changes changes, std::string_view why) {
  read_.insert(&setting);
  reported_.insert(&setting);
  job_.not_modelled.push_back({.text = readable(setting.written),
                               .origin = setting.origin,
                               .changes = changes,
                               .why = std::string(why)});
}

void Draft::not_modelled_without(std::string_view name, Changes changes, std::string_view why) {
  job_.not_modelled.push_back({.text = fmt::format("{} is absent", flag_of(name)),
                               .origin = {.source = request_.name},
                               .changes = changes,
                               .why = std::string(why)});
}

void Draft::not_understood(const Setting& setting, std::string_view why) {
  not_modelled(setting, Changes::time_and_memory, why);
}

const SettingRow* Draft::row_of(std::string_view name, const SettingTable& table) const {
  if (request_.own.table != nullptr)
    if (const SettingRow* const row = request_.own.table->find(name)) return row;
  return table.find(name);
}

void Draft::report_unknown(const Setting& setting, const SettingTable& table,
                           std::span<const std::string_view> names) {
  std::vector<std::string_view> known(names.begin(), names.end());
  known.insert(known.end(), request_.own.names.begin(), request_.own.names.end());
  std::vector<std::pair<std::string, const SettingRow*>> rows = table.names();
  if (request_.own.table != nullptr)
    for (auto& row : request_.own.table->names()) rows.push_back(std::move(row));
  for (const auto& [name, row] : rows)
    if (!name.ends_with('*')) known.push_back(name);
  const std::string_view nearest = config::nearest_name(setting.name, known);
  if (nearest.empty()) return not_modelled(setting, Changes::unknown, "unknown");
  const bool is_flag = setting.written.starts_with("--");
  not_modelled(
      setting, Changes::unknown,
      fmt::format("unknown; did you mean {}?", is_flag ? flag_of(nearest) : std::string(nearest)));
}

void Draft::sort_rest(const SettingTable& table, std::span<const std::string_view> names) {
  for (const Setting& setting : request_.settings) {
    if (read_.contains(&setting)) continue;
    std::vector<std::string> values = values_of(setting);
    const SettingRow* row = row_of(setting.name, table);
    if (const std::string_view name = negated_name(setting.name); row == nullptr && !name.empty()) {
      row = row_of(name, table);
      values = {!values.empty() && is_off(values.front()) ? "true" : "false"};
    }
    if (row == nullptr)
      report_unknown(setting, table, names);
    else if (row->changes == Changes::nothing)
      without_effect(setting, row->reason);
    else if (row->is_modelled(values))
      without_effect(setting, "a value that the model assumes");
    else
      not_modelled(setting, row->changes, row->reason);
  }
}

}  // namespace pipewright::jobs
