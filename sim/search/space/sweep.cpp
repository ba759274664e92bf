#include "sim/search/space/sweep.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/search/space/objective_value.hpp"
#include "sim/search/space/open_values.hpp"
#include "sim/search/space/range.hpp"
#include "sim/search/space/sweep_checks.hpp"

namespace pipewright::search {
namespace {

using config::Entry;
using config::Error;
using config::Field;
using config::Key;
using config::Value;

void read_gpus(const Field& field, Sweep& sweep) {
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

void read_constraints(const Field& field, Sweep& sweep) {
  for (const Field& item : items(field, "an expression such as 'tp <= gpus_per_node', or a list"))
    sweep.constraints.push_back(
        {read_text(item, "an expression such as 'tp <= gpus_per_node'"), item.value.origin});
}

constexpr std::array table{
    Key<Sweep>{{.name = "gpus",
                .help = "how many a candidate uses: a number, a list or a range; a dp that is not "
                        "given follows (all of the cluster, where tp, cp, pp or dp is open)"},
               read_gpus},
    Key<Sweep>{{.name = "constraints",
                .help = "expressions that candidates meet: 'tp <= gpus_per_node', \"schedule != "
                        "'gpipe' or pp <= 4\""},
               read_constraints},
    Key<Sweep>{{.name = "objective",
                .help = "throughput, mfu, memory, {time_to_train: 2T tokens}, {price: 2.5, tokens: "
                        "300B} of a GPU-hour, or {memory: 1.2M tokens/s}, the least at that "
                        "throughput (throughput)"},
               [](const Field& f, Sweep& s) { s.objective = read_objective(f); }},
    Key<Sweep>{{.name = "memory", .help = "of a GPU, such as 72 GiB (what the cluster says)"},
               [](const Field& f, Sweep& s) {
                 s.memory = read_size(f, "a GPU's memory");
                 if (s.memory == 0U) throw wrong(f, "a size of more than 0 bytes, such as 72 GiB");
               }},
};

bool names_file(std::string_view key, const std::string& text) {
  if (text.empty() || text == "auto") return false;
  if (key == "schedule") return config::is_file(config::schedule_source(text));
  return !config::is_library_name(text, key == "cluster" ? ".xml" : ".yaml");
}

// Names of files, from the folder of what names them, say the same wherever they are read.
void resolve(std::string_view key, Value& value) {
  if (value.kind == Value::Kind::text && names_file(key, value.text)) {
    const auto path = std::filesystem::path(value.origin.folder) / value.text;
    value.text = std::filesystem::absolute(path).lexically_normal().string();
    value.origin.folder.clear();
  }
  for (Value& item : value.items) resolve(key, item);
  // The maps of alternatives and of schedules hold names; those of models and GPUs are themselves.
  for (Entry& entry : value.entries)
    if (entry.key == "any_of" || (key == "schedule" && entry.key == "name"))
      resolve(key, entry.value);
}

std::string title_of(const Value& root) {
  return root.origin.line > 0 ? std::filesystem::path(root.origin.source).stem().string() : "sweep";
}

}  // namespace

Sweep read_sweep(const Value& root) {
  if (root.kind != Value::Kind::map)
    throw config::wrong({root, "the sweep"}, "a scenario, with a section search");
  Sweep sweep;
  sweep.title = title_of(root);
  sweep.scenario = root;
  std::erase_if(sweep.scenario.entries, [](const Entry& entry) { return entry.key == "search"; });
  for (Entry& entry : sweep.scenario.entries)
    if (is_whole(entry.key)) resolve(entry.key, entry.value);
  if (const Value* const section = find(root, "search"))
    config::read_keys<Sweep>({*section, "search"}, table, sweep);
  check_values(sweep.scenario);

  Value whole = sweep.scenario;
  if (const Value* const section = find(root, "search"))
    whole.entries.push_back({"search", section->origin, *section});
  sweep.text = config::to_yaml(whole);
  return sweep;
}

std::vector<config::KeyRow> sweep_keys() { return rows_of(table); }

std::vector<std::string> cluster_values(const Sweep& sweep) {
  std::vector<std::string> clusters;
  for (const OpenPlace& place : open_places(sweep.scenario))
    if (place.key == "cluster")
      for (const Value& value : place.values) clusters.push_back(value.text);
  if (clusters.empty()) clusters.emplace_back();
  return clusters;
}

}  // namespace pipewright::search
