#include "sim/sweep/axis.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/text/library.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/auto_values.hpp"

namespace pipewright::search {
namespace {

using config::Error;
using config::Value;

constexpr std::array<std::string_view, 6> size_keys{
    "parallel.tp", "parallel.tp_by_device", "parallel.cp", "parallel.pp", "devices", "parallel.dp"};

// Keys whose axes come first: rules depend on them, so that an enumeration of the combinations
// abandons excluded ones early. All other axes follow in the order of the scenario.
constexpr std::array<std::string_view, 16> first_keys{"cluster",        "gpu",
                                                      "model",          "parallel",
                                                      "parallel.tp",    "parallel.tp_by_device",
                                                      "parallel.cp",    "parallel.pp",
                                                      "devices",        "parallel.dp",
                                                      "parallel.shard", "parallel.replicate",
                                                      "parallel.ep",    "parallel.etp",
                                                      "global_batch",   "training.microbatch_size"};

std::size_t axis_rank(const SweepAxis& axis) {
  if (axis.info.key == "schedule") return first_keys.size() + 1;
  return static_cast<std::size_t>(std::ranges::find(first_keys, axis.info.key) -
                                  first_keys.begin());
}

bool is_size_known(const std::vector<ClusterFacts>& facts) {
  return !facts.empty() &&
         std::ranges::all_of(facts, [](const ClusterFacts& cluster) { return cluster.gpus > 0; });
}

std::vector<std::uint64_t> allowed_gpu_counts(const Sweep& sweep,
                                              const std::vector<ClusterFacts>& facts,
                                              const std::vector<OpenKey>& open_keys) {
  if (!sweep.gpus.empty()) return {sweep.gpus.begin(), sweep.gpus.end()};
  const bool open = std::ranges::any_of(open_keys, [](const OpenKey& open_key) {
    return is_size(open_key.name) || open_key.name == "parallel";
  });
  std::set<std::uint64_t> counts;
  if (open && is_size_known(facts))
    for (const ClusterFacts& cluster : facts) counts.insert(cluster.gpus);
  return {counts.begin(), counts.end()};
}

void check_gpus(const Sweep& sweep, const std::vector<ClusterFacts>& facts) {
  if (sweep.gpus.empty() || !is_size_known(facts)) return;
  const auto largest = std::ranges::max_element(facts, {}, &ClusterFacts::gpus);
  for (const std::uint32_t gpus : sweep.gpus)
    if (gpus > largest->gpus)
      throw Error(
          fmt::format("search.gpus is {}, but {} has {}", gpus, largest->name, largest->gpus))
          .allow(fmt::format("1 to {}", largest->gpus));
}

// Throws config::Error if the number of devices is given beside parallel.tp_by_device, whose length
// already determines it.
void check_devices(const SweepAxes& axes) {
  constexpr std::string_view key = "parallel.tp_by_device";
  const SweepAxis* const by_device = find_axis(axes.open, key);
  if (by_device == nullptr) return;
  Value rest = axes.scenario;
  at_path(rest, by_device->path) = {};
  const std::vector<Scalar> fixed = scalars(rest, "");
  for (const std::string_view count : {"parallel.pp", "devices"})
    if (find_axis(axes.open, count) != nullptr ||
        std::ranges::find(fixed, count, &Scalar::key) != fixed.end())
      throw Error(fmt::format("{} and {} both set the number of devices", key, count))
          .suggest(fmt::format("leave {} out, or write both as "
                               "alternatives, as in parallel: {{any_of: [{{pp: 2, tp: 8}}, "
                               "{{tp_by_device: [8, 4]}}]}}",
                               count));
}

// Adds `dp: auto` where the scenario gives no dp, so that it follows from the number of GPUs.
void open_dp(Value& scenario) {
  if (find(scenario, "parallel") == nullptr) scenario.entries.push_back({"parallel", {}, {}});
  Value& parallel = *find(scenario, "parallel");
  const bool has_dp = std::ranges::any_of(parallel.entries, [](const config::Entry& entry) {
    return entry.key == "dp" || entry.key == "data" || entry.key == "any_of";
  });
  if (!has_dp && parallel.kind == Value::Kind::map)
    parallel.entries.push_back({"dp", {}, make_text("auto", parallel.origin)});
}

std::string label_of(const std::string& key, const Value& value) {
  if (key == "schedule") return schedule_label(value);
  if (!is_whole(key)) return line_of(value);
  const Value* const name = value.kind == Value::Kind::map ? find(value, "name") : nullptr;
  if (name != nullptr && name->kind == Value::Kind::text) return name->text;
  if (value.kind != Value::Kind::text) return line_of(value);
  const bool in_library = config::is_library_name(value.text, key == "cluster" ? ".xml" : ".yaml");
  if (key == "model") return config::model_label({value, key});
  return in_library ? value.text : std::filesystem::path(value.text).stem().string();
}

// Returns a model or GPU that is given by name as the map of its keys, with a name.
Value spelled_out(const config::Field& field, const std::string& name) {
  return config::with_name(
      field.name == "model" ? config::model_tree(field) : config::gpu_tree(field), field, name);
}

// Describes the keys of a map whose values differ among the maps with the same label, as in "
// layers 16".
std::string differences(const Value& value, const std::vector<const Value*>& same_label) {
  std::string text;
  for (const config::Entry& entry : value.entries)
    if (std::ranges::any_of(same_label, [&](const Value* peer) {
          const Value* const peer_value = find(*peer, entry.key);
          return peer_value == nullptr || line_of(*peer_value) != line_of(entry.value);
        }))
      text += fmt::format(" {} {}", entry.key, line_of(entry.value));
  return text;
}

// Returns a label for each value of an axis: short labels if no two are equal, else all values
// written out.
std::vector<std::string> labels_of(const std::string& key, const std::vector<Value>& values) {
  std::map<std::string, std::vector<const Value*>> by_label;
  for (const Value& value : values) by_label[label_of(key, value)].push_back(&value);
  std::vector<std::string> labels;
  std::set<std::string> different;
  for (const Value& value : values) {
    const std::string label = label_of(key, value);
    labels.push_back(label + (is_whole(key) ? differences(value, by_label[label]) : ""));
    different.insert(labels.back());
  }
  if (different.size() < labels.size())
    std::ranges::transform(values, labels.begin(), [](const Value& v) { return line_of(v); });
  return labels;
}

std::string short_name(std::string_view key) {
  return key == "devices" ? "pp" : std::string(key.substr(key.rfind('.') + 1));
}

// Names each axis by the last part of its key, or by the whole key if several keys have this last
// part.
void name_axes(std::vector<SweepAxis>& axes) {
  for (SweepAxis& axis : axes) {
    const std::string name = short_name(axis.info.key);
    const auto count = std::ranges::count_if(
        axes, [&](const SweepAxis& candidate) { return short_name(candidate.info.key) == name; });
    axis.info.name = count == 1 ? name : axis.info.key;
  }
}

class AxisMaker {
 public:
  AxisMaker(SweepAxes& axes, std::vector<OpenKey> open_keys, const std::vector<ClusterFacts>& facts)
      : axes_(axes), open_keys_(std::move(open_keys)) {
    for (const ClusterFacts& cluster : facts)
      if (cluster.gpus_per_node > 0) facts_.domains.insert(cluster.gpus_per_node);
    facts_.gpus = {axes.gpus.begin(), axes.gpus.end()};
    for (const OpenKey& open_key : open_keys_) read_models_and_gpus(open_key);
    for (const Scalar& scalar : scalars(axes.scenario, "")) add_batch(scalar);
    for (const OpenKey& open_key : open_keys_)
      for (const Value& value : open_key.values)
        for (const Scalar& scalar : scalars(value, open_key.name)) add_batch(scalar);
  }

  void make() {
    for (OpenKey& open_key : open_keys_) add(open_key);
    std::ranges::stable_sort(axes_.open, {}, axis_rank);
    name_axes(axes_.open);
    name_axes(axes_.fixed);
    axes_.scenario = without_origins(std::move(axes_.scenario));
  }

 private:
  void read_models_and_gpus(const OpenKey& open_key) {
    if (open_key.automatic && is_whole(open_key.name)) check_auto(open_key.name, open_key.origin);
    for (const Value& value : open_key.values) {
      if (open_key.name == "gpu")
        axes_.gpu_types.push_back(config::read_gpu({value, open_key.name}));
      if (open_key.name != "model") continue;
      axes_.models.push_back(config::read_model({value, open_key.name}));
      facts_.layers.insert(axes_.models.back().layers);
      facts_.experts.insert(axes_.models.back().experts ? axes_.models.back().experts->count : 1);
    }
  }

  void add_batch(const Scalar& scalar) {
    std::uint64_t batch = 0;
    const char* const end = scalar.text.data() + scalar.text.size();
    if (scalar.key == "global_batch" && std::from_chars(scalar.text.data(), end, batch).ptr == end)
      facts_.batches.insert(batch);
  }

  std::vector<Value> values_of(const OpenKey& open_key) const {
    if (open_key.name == "schedule") return schedule_values(open_key, facts_.layers);
    if (!open_key.automatic) return open_key.values;
    std::vector<Value> values;
    for (std::string& text : auto_values(open_key.name, facts_, open_key.origin))
      values.push_back(make_text(std::move(text), open_key.origin));
    return values;
  }

  void add(const OpenKey& open_key) {
    const std::vector<Value> values = values_of(open_key);
    SweepAxis axis;
    axis.info.key = open_key.name;
    axis.info.values = labels_of(open_key.name, values);
    axis.path = open_key.path;
    for (std::size_t i = 0; i < values.size(); ++i) {
      AxisValue made;
      made.shown = without_origins(values[i]);
      if (open_key.name == "model" || open_key.name == "gpu")
        made.expanded =
            without_origins(spelled_out({values[i], open_key.name}, axis.info.values[i]));
      made.gpus = size_product(scalars(values[i], open_key.name));
      axis.values.push_back(std::move(made));
    }
    const bool open = axis.values.size() > 1 || open_key.name == "schedule";
    if (!open) at_path(axes_.scenario, axis.path) = axis.values.front().shown;
    (open ? axes_.open : axes_.fixed).push_back(std::move(axis));
  }

  SweepAxes& axes_;
  std::vector<OpenKey> open_keys_;
  AutoFacts facts_;
};

}  // namespace

bool is_size(std::string_view key) { return std::ranges::find(size_keys, key) != size_keys.end(); }

std::uint64_t size_product(const std::vector<Scalar>& scalars) {
  std::map<std::string_view, double> size_of;  // parallel.pp stands for both names of pp
  for (const Scalar& scalar : scalars) {
    double size = 0;
    const char* const end = scalar.text.data() + scalar.text.size();
    if (is_size(scalar.key) && std::from_chars(scalar.text.data(), end, size).ptr == end)
      size_of[scalar.key == "devices" ? "parallel.pp" : std::string_view(scalar.key)] = size;
  }
  double product = 1;
  for (const auto& [key, size] : size_of) product *= size;
  return static_cast<std::uint64_t>(std::llround(product));
}

const SweepAxis* find_axis(const std::vector<SweepAxis>& axes, std::string_view key) {
  const auto it =
      std::ranges::find_if(axes, [&](const SweepAxis& axis) { return axis.info.key == key; });
  return it == axes.end() ? nullptr : &*it;
}

SweepAxes make_axes(const Sweep& sweep, const std::vector<ClusterFacts>& facts) {
  SweepAxes axes;
  axes.scenario = sweep.scenario;
  // The keys of output files are removed, since they do not affect the results.
  std::erase_if(axes.scenario.entries, [](const config::Entry& entry) {
    return entry.key == "output" || entry.key == "output_file" || entry.key == "trace";
  });
  if (find(axes.scenario, "schedule") == nullptr)
    axes.scenario.entries.push_back({"schedule", {}, config::make_text("1f1b", {})});
  check_gpus(sweep, facts);
  axes.gpus = allowed_gpu_counts(sweep, facts, open_keys(axes.scenario));
  if (!axes.gpus.empty()) open_dp(axes.scenario);
  AxisMaker(axes, open_keys(axes.scenario), facts).make();
  check_devices(axes);
  return axes;
}

}  // namespace pipewright::search
