#include "sim/sweep/sweep.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/config/command_sections.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/counts.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/sweep/auto_values.hpp"
#include "sim/sweep/objective_value.hpp"
#include "sim/sweep/open_values.hpp"
#include "sim/sweep/scenario_tree.hpp"

namespace pipewright::search {
namespace {

using config::Entry;
using config::Error;
using config::Field;
using config::Key;
using config::Value;

Entry text_entry(std::string_view key, std::string_view text) {
  return {std::string(key), {}, config::make_text(std::string(text), {})};
}

// Returns whether a key of a scenario is only valid together with other keys, so that it cannot be
// checked alone.
bool needs_other_keys(std::string_view key) {
  constexpr std::array<std::string_view, 5> keys{"placement", "activation", "state", "layer_times",
                                                 "modules"};
  return std::ranges::find(keys, key) != keys.end();
}

// Returns the smallest valid scenario that has a given entry. A cluster is added for the section
// `variation`, which needs one.
Value scenario_with(const Entry& entry, const Value* cluster) {
  const std::string key = canonical_key(entry.key);
  const bool halves = key == "input_grad_times" || key == "weight_grad_times";
  const bool pipeline = entry.value.kind == Value::Kind::map && key == "parallel" &&
                        (find(entry.value, "pp") || find(entry.value, "pipeline") ||
                         find(entry.value, "tp_by_device"));
  Value scenario;
  const auto add = [&](std::string_view name, bool is_implied, const char* value) {
    if (!is_implied && key != name) scenario.entries.push_back(text_entry(name, value));
  };
  add("devices", pipeline, "1");
  add("microbatches", key == "global_batch", "1");
  // A time of 0 goes with times of any unit.
  add("forward_times", false, "0");
  add("backward_times", halves, "0");
  if (halves) {
    add("input_grad_times", false, "0");
    add("weight_grad_times", false, "0");
  }
  if (key == "variation" && cluster != nullptr)
    scenario.entries.push_back({"cluster", cluster->origin, *cluster});
  scenario.entries.push_back(entry);
  return scenario;
}

// Removes the value that is reached by following `path` from the root.
void erase_at(Value& root, std::vector<std::size_t> path) {
  const std::size_t last = path.back();
  path.pop_back();
  Value& parent = at_path(root, path);
  if (parent.kind == Value::Kind::map)
    parent.entries.erase(parent.entries.begin() + static_cast<std::ptrdiff_t>(last));
  else
    parent.items.erase(parent.items.begin() + static_cast<std::ptrdiff_t>(last));
}

// Removes those entries of a schedule, such as its chunks, whose value is `auto`.
void drop_auto_chunks(Value& schedule) {
  std::erase_if(schedule.entries, [](const Entry& entry) { return is_auto(entry.value); });
}

void check_key(const OpenKey& key) {
  if (key.automatic) check_auto(key.name, key.origin);
  for (const Value& value : key.values) {
    if (key.name == "schedule") check_schedule(value);
    for (const Entry& entry : value.entries)
      if (is_auto(entry.value)) check_auto(key.name + "." + entry.key, entry.value.origin);
  }
}

bool opens(const std::vector<OpenKey>& keys, std::string_view key) {
  return std::ranges::find(keys, key, &OpenKey::name) != keys.end();
}

// Checks an entry of a sweep: reads it with the first value of each open key, and then with every
// other value of one of the keys.
void check_entry(const Entry& entry, const Value* cluster) {
  Value single;
  single.entries.push_back(entry);
  const std::vector<OpenKey> keys = open_keys(single);
  const bool opens_cp_comm = opens(keys, "parallel.cp_comm_type");
  const auto read = [&](const Value& filled) {
    Value cleared = filled;
    for (const OpenKey& key : keys | std::views::reverse)
      if (key.automatic && is_key(key.name)) erase_at(cleared, key.path);
    if (cleared.entries.empty()) return;
    if (opens_cp_comm) drop_unused_cp_sizes(cleared);
    Value& value = cleared.entries.front().value;
    if (canonical_key(entry.key) == "schedule") drop_auto_chunks(value);
    config::read_scenario(scenario_with(cleared.entries.front(), cluster));
  };
  Value first = single;
  for (const OpenKey& key : keys)
    if (!key.automatic) at_path(first, key.path) = key.values.front();
  read(first);
  for (const OpenKey& key : keys) check_key(key);
  for (const OpenKey& key : keys) {
    // Only the ends of a range are read, since the values between them are then valid too.
    const bool is_range_text = at_path(single, key.path).kind == Value::Kind::text;
    for (std::size_t i = 1; i < key.values.size(); ++i) {
      if (is_range_text && i + 1 < key.values.size()) continue;
      Value changed = first;
      at_path(changed, key.path) = key.values[i];
      read(changed);
    }
  }
}

// Checks an entry, and adds a hint to the error if its value is a list: the user may have meant
// alternatives, which need `any_of` for keys whose value is a list.
void check_alternatives(const Entry& entry, const Value* cluster) {
  try {
    check_entry(entry, cluster);
  } catch (const Error& error) {
    if (entry.value.kind != Value::Kind::list || !error.suggestion().empty()) throw;
    throw Error(error).suggest(
        fmt::format("to list alternatives, write {}: {{any_of: [..]}}", entry.key));
  }
}

// Reads all keys of the sweep as one scenario to find missing keys and keys that exclude each
// other. Uses one pipeline device and leaves out optional keys with several values.
void check_together(Value scenario) {
  const std::vector<OpenKey> keys = open_keys(scenario);
  for (const OpenKey& key : keys | std::views::reverse) {
    Value& value = at_path(scenario, key.path);
    if (key.name == "parallel.pp" || key.name == "devices")
      value = config::make_text("1", key.origin);
    else if (key.path.size() == 1 && !key.automatic)
      value = key.values.front();
    else
      erase_at(scenario, key.path);
  }
  if (opens(keys, "parallel.cp_comm_type")) drop_unused_cp_sizes(scenario);
  const bool batch = find(scenario, "global_batch") && !find(scenario, "microbatches") &&
                     !find(scenario, "num_batches");
  std::erase_if(scenario.entries, [&](const Entry& entry) {
    const std::string key = canonical_key(entry.key);
    return needs_other_keys(key) || key == "variation" || key == "symmetric" || key == "schedule" ||
           (batch && key == "global_batch");
  });
  if (batch) scenario.entries.push_back(text_entry("microbatches", "1"));
  config::read_scenario(scenario);
}

void refuse_jitter(const Value& value, bool under_jitter) {
  if (under_jitter && value.kind == Value::Kind::text && value.text != "0" && value.text != "0 %")
    throw Error(
        value.origin,
        fmt::format("variation.jitter is {}, but a search compares candidates under the same times",
                    config::describe(value)))
        .suggest("leave it out");
  for (const Value& item : value.items) refuse_jitter(item, under_jitter);
  for (const Entry& entry : value.entries)
    refuse_jitter(entry.value, under_jitter || entry.key == "jitter");
}

// Throws the config::Error that `pipewright run` would throw for any single value of a sweep's
// scenario. Combinations of values that are not allowed are found later, for each candidate.
void check_values(const Value& scenario) {
  const std::vector<OpenKey> keys = open_keys(scenario);
  for (const OpenKey& key : keys)
    if (const config::CommandSection* const section = config::command_section_of(key.name);
        section != nullptr && !section->changes_search)
      throw Error(key.origin,
                  fmt::format("{} has several values, and changes no figure of a search", key.name))
          .suggest(fmt::format("try its values with 'pipewright {}'", section->name));
  const auto clusters = std::ranges::find(keys, "cluster", &OpenKey::name);
  const Value* const cluster = clusters == keys.end() ? nullptr : &clusters->values.front();
  for (const Entry& entry : scenario.entries) {
    if (entry.key == "variation") refuse_jitter(entry.value, false);
    if (!needs_other_keys(canonical_key(entry.key))) check_alternatives(entry, cluster);
  }
  check_together(scenario);
}

void read_allowed_gpus(const Field& field, Sweep& sweep) {
  for (const Field& item : items(field, "a number of GPUs, a list or a range of them")) {
    std::vector<std::string> texts{item.value.text};
    if (item.value.kind == Value::Kind::text && is_range(item.value.text))
      texts = range_values(item);
    for (const std::string& text : texts) {
      Value value = item.value;
      if (value.kind == Value::Kind::text) value.text = text;
      sweep.gpus.push_back(config::read_count({value, item.name}, "40"));
    }
  }
  std::ranges::sort(sweep.gpus);
  const auto repeats = std::ranges::unique(sweep.gpus);
  sweep.gpus.erase(repeats.begin(), repeats.end());
}

// Throws an Error if a constraint names a figure of results: constraints are checked before
// anything is simulated.
void refuse_results(const std::string& constraint, const Field& field) {
  constexpr std::array<std::string_view, 3> memory{"peak_memory", "peak_memory_bytes",
                                                   "peak_bytes"};
  constexpr std::array<std::string_view, 9> figures{"makespan",    "makespan_s",   "time_s",
                                                    "iteration_s", "tokens_per_s", "samples_per_s",
                                                    "mfu",         "bubble_ratio", "throughput"};
  const std::size_t begin = constraint.find_first_not_of(" (");
  if (begin == std::string::npos) return;
  const std::string_view text = std::string_view(constraint).substr(begin);
  const std::string_view name = text.substr(0, text.find_first_of(" <>=!)"));
  const bool is_memory = std::ranges::find(memory, name) != memory.end();
  if (!is_memory && std::ranges::find(figures, name) == figures.end()) return;
  const std::size_t limit = text.find_first_of("0123456789");
  const std::string size(limit == std::string_view::npos ? "60 GiB" : text.substr(limit));
  throw Error(field.value.origin,
              fmt::format("{} is a result, and constraints are about what a candidate sets", name),
              field.name)
      .suggest(is_memory ? fmt::format("search.memory is the key that limits memory: {}", size)
                         : "search.objective is the key that ranks candidates by results, and the "
                           "files of -o have the results of each candidate");
}

void read_constraints(const Field& field, Sweep& sweep) {
  for (const Field& item : items(field, "an expression such as 'tp <= gpus_per_node', or a list")) {
    const std::string& text = read_text(item, "an expression such as 'tp <= gpus_per_node'");
    refuse_results(text, item);
    sweep.constraints.push_back({text, item.value.origin});
  }
}

Shard read_shard(const Field& field) {
  constexpr std::string_view allowed = "a shard and the number of shards, such as 3/64";
  const std::string& text = config::read_text(field, allowed);
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, fault] = std::from_chars(text.data(), end, shard.number);
  if (fault != std::errc() || slash == end || *slash != '/') throw wrong(field, allowed);
  const auto [rest, count_fault] = std::from_chars(slash + 1, end, shard.count);
  if (count_fault != std::errc() || rest != end || shard.number == 0 || shard.number > shard.count)
    throw wrong(field, allowed);
  return shard;
}

bool read_rules(const Field& field) {
  constexpr std::array<std::string_view, 4> words{"on", "true", "off", "false"};
  constexpr std::size_t first_no = 2;
  return read_choice(field, words) < first_no;
}

constexpr std::array sweep_table{
    Key<Sweep>{{.name = "gpus",
                .help = "number of GPUs of a candidate: a number, a list or a range; dp follows "
                        "from it unless set (all of the cluster if tp, cp, pp or dp is open)"},
               read_allowed_gpus},
    Key<Sweep>{{.name = "constraints",
                .help = "expressions that every candidate must meet: 'tp <= gpus_per_node', "
                        "\"schedule != 'gpipe' or pp <= 4\""},
               read_constraints},
    Key<Sweep>{{.name = "objective",
                .help = "throughput, mfu, memory, tokens_a_day (of a goodput run), {time_to_train: "
                        "2T tokens}, {price: 2.5, tokens: 300B} (price of a GPU-hour), or {memory: "
                        "1.2M tokens/s} (least memory at that throughput) (throughput)"},
               [](const Field& f, Sweep& s) { s.objective = read_objective(f); }},
    Key<Sweep>{{.name = "memory", .help = "memory of a GPU, such as 72 GiB (as in the cluster)"},
               [](const Field& f, Sweep& s) {
                 s.memory = read_size(f, "a GPU's memory");
                 if (s.memory == 0U) throw wrong(f, "a size of more than 0 bytes, such as 72 GiB");
               }},
    Key<Sweep>{
        {.name = "rules", .help = "exclude candidates that their stack refuses: on or off (on)"},
        [](const Field& f, Sweep& s) { s.has_rules = read_rules(f); }},
    Key<Sweep>{{.name = "shard",
                .help = "part of the sweep to search, such as 3/64, the third of 64 (all)"},
               [](const Field& f, Sweep& s) { s.shard = read_shard(f); }},
};

bool names_file(std::string_view key, const std::string& text) {
  if (text.empty() || text == "auto") return false;
  if (key == "schedule") return config::is_file(config::schedule_source(text));
  return !config::is_library_name(text, key == "cluster" ? ".xml" : ".yaml");
}

// Makes the path of a file absolute, so that it stays valid if the sweep is read in another folder.
void make_absolute(Value& value) {
  const auto path = std::filesystem::path(value.origin.folder) / value.text;
  value.text = std::filesystem::absolute(path).lexically_normal().string();
  value.origin.folder.clear();
}

void resolve_files(std::string_view key, Value& value) {
  if (value.kind == Value::Kind::text && names_file(key, value.text)) make_absolute(value);
  for (Value& item : value.items) resolve_files(key, item);
  // Only maps of alternatives and maps of schedules contain names of files; those of models and
  // GPUs do not.
  for (Entry& entry : value.entries)
    if (entry.key == "any_of" || (key == "schedule" && entry.key == "name"))
      resolve_files(key, entry.value);
}

// Checks that the section `goodput` exists if the objective needs a goodput run. Makes the path of
// its failure trace absolute.
void check_goodput(Sweep& sweep) {
  Value* const goodput = find(sweep.scenario, "goodput");
  if (goodput != nullptr)
    if (Value* const trace = find(*goodput, "failure_trace");
        trace != nullptr && trace->kind == Value::Kind::text)
      make_absolute(*trace);
  if (goodput == nullptr && sweep.objective.kind == analysis::Objective::Kind::tokens_a_day)
    throw Error("search.objective is tokens_a_day, which needs failures and recovery")
        .suggest("add them, as in goodput: {failures: rsc-1, restart: 10 min}");
}

// Returns the section `search` with the key `rules` only if it is off, so that sweeps that exclude
// the same candidates have the same text.
Value with_plain_rules(Value section, bool has_rules) {
  std::erase_if(section.entries, [](const Entry& entry) { return entry.key == "rules"; });
  if (!has_rules) section.entries.push_back(text_entry("rules", "off"));
  return section;
}

std::string title_of(const Value& root) {
  return root.origin.line > 0 ? std::filesystem::path(root.origin.source).stem().string() : "sweep";
}

// Writes whole numbers with a scale, such as 8k, as plain numbers, with which constraints and facts
// calculate. `path` is the dotted key of the value.
void make_counts_plain(Value& value, const std::string& path) {
  for (Entry& entry : value.entries)
    make_counts_plain(entry.value, entry.key == "any_of" ? path
                                   : path.empty()        ? entry.key
                                                         : path + '.' + entry.key);
  for (Value& item : value.items) make_counts_plain(item, path);
  if (value.kind != Value::Kind::text) return;
  const auto& rows = scenario_rows();
  const auto row = std::ranges::find_if(rows, [&](const config::KeyRow& key) {
    const std::size_t dot = key.name.rfind('.');
    const std::string section = dot == std::string::npos ? "" : key.name.substr(0, dot + 1);
    return key.name == path ||
           (!key.info.alias.empty() && section + std::string(key.info.alias) == path);
  });
  if (row == rows.end() || row->value.type != config::ValueType::count) return;
  if (const auto count = config::scaled_count(value.text)) value.text = fmt::to_string(*count);
}

}  // namespace

Sweep read_sweep(const Value& root) {
  if (root.kind != Value::Kind::map)
    throw config::wrong({root, "the sweep"}, "a scenario, with a section search");
  Sweep sweep;
  sweep.title = title_of(root);
  sweep.scenario = root;
  std::erase_if(sweep.scenario.entries, [](const Entry& entry) { return entry.key == "search"; });
  make_counts_plain(sweep.scenario, "");
  for (Entry& entry : sweep.scenario.entries)
    if (is_whole(entry.key)) resolve_files(entry.key, entry.value);
  if (const Value* const section = find(root, "search"))
    config::read_keys<Sweep>({*section, "search"}, sweep_table, sweep);
  check_goodput(sweep);
  check_values(sweep.scenario);

  Value whole = sweep.scenario;
  if (const Value* const section = find(root, "search"))
    if (Value plain = with_plain_rules(*section, sweep.has_rules); !plain.entries.empty())
      whole.entries.push_back({"search", section->origin, std::move(plain)});
  sweep.text = config::to_yaml(whole);
  return sweep;
}

std::vector<config::KeyRow> sweep_keys() { return rows_of(sweep_table); }

std::vector<std::string> cluster_values(const Sweep& sweep) {
  std::vector<std::string> clusters;
  for (const OpenKey& key : open_keys(sweep.scenario))
    if (key.name == "cluster")
      for (const Value& value : key.values) clusters.push_back(value.text);
  if (clusters.empty()) clusters.emplace_back();
  return clusters;
}

}  // namespace pipewright::search
