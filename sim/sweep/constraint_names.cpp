#include "sim/sweep/constraint_names.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "schedules/families/catalog.hpp"
#include "sim/base/numbers.hpp"
#include "sim/config/command_sections.hpp"
#include "sim/sweep/auto_values.hpp"

namespace pipewright::search {
namespace {

constexpr double gib = 0x1.0p+30;

Type type_of(std::string_view text) {
  if (text == "true" || text == "false") return Type::truth;
  return base::parse_number<double>(text) ? Type::number : Type::text;
}

// Returns whether the value of a key is a list of maps, so that a key inside these maps has several
// values.
bool is_list_of_maps(std::string_view key) {
  const auto row = std::ranges::find(scenario_rows(), key, &config::KeyRow::name);
  return row != scenario_rows().end() && row->value.list &&
         row->value.type == config::ValueType::map;
}

// Returns whether constraints may use a key of the scenario as a name: one with a single value
// without a unit, whether or not the sweep sets it.
bool has_name(const config::KeyRow& row) {
  using config::ValueType;
  const ValueType type = row.value.type;
  const bool is_plain = type == ValueType::flag || type == ValueType::choice ||
                        (type == ValueType::count && !row.value.list) || type == ValueType::number;
  const std::size_t dot = row.name.rfind('.');
  const bool in_list = dot != std::string::npos && is_list_of_maps(row.name.substr(0, dot));
  // Two keys get their names elsewhere: `devices` is named pp, and `sequence` may also come from
  // the model.
  return is_plain && !in_list && !is_in_whole(row.name) && row.name != "devices" &&
         config::command_section_of(row.name) == nullptr && row.name != "training.sequence";
}

// Returns the key by which constraints name a key of the scenario.
std::string name_key(const std::string& key) { return key == "devices" ? "parallel.pp" : key; }

// Gives access to the parts of a sweep from which facts are computed, such as the nodes of a
// cluster.
struct SweepFacts {
  const Sweep& sweep;
  const std::vector<ClusterFacts>& clusters;
  const SweepAxes& axes;
  Names& names;

  ClusterFacts cluster(std::size_t i) const {
    return i < clusters.size() ? clusters[i] : ClusterFacts{};
  }
  // Returns the number that stands for the label of an axis's i-th value; nothing if the sweep has
  // no such axis.
  std::optional<double> label(std::string_view key, std::size_t i) const {
    const SweepAxis* const open = find_axis(axes.open, key);
    const SweepAxis* const axis = open != nullptr ? open : find_axis(axes.fixed, key);
    return axis == nullptr ? std::nullopt : std::optional(names.number_of(axis->info.values.at(i)));
  }
};

std::optional<double> if_positive(double number) {
  return number > 0 ? std::optional(number) : std::nullopt;
}

std::optional<double> cluster_label(const SweepFacts& facts, std::size_t i) {
  return facts.label("cluster", i);
}

std::optional<double> gpus_per_node(const SweepFacts& facts, std::size_t i) {
  return if_positive(facts.cluster(i).gpus_per_node);
}

std::optional<double> nodes(const SweepFacts& facts, std::size_t i) {
  const ClusterFacts cluster = facts.cluster(i);
  if (cluster.gpus == 0 || cluster.gpus_per_node == 0) return std::nullopt;
  return (cluster.gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
}

std::optional<double> gpu_label(const SweepFacts& facts, std::size_t i) {
  if (!facts.axes.gpu_types.empty()) return facts.label("gpu", i);
  const std::string type = facts.cluster(i).gpu;
  return type.empty() ? std::nullopt : std::optional(facts.names.number_of(type));
}

std::optional<double> memory_gib(const SweepFacts& facts, std::size_t i) {
  if (facts.sweep.memory) return static_cast<double>(*facts.sweep.memory) / gib;
  const std::vector<config::Gpu>& types = facts.axes.gpu_types;
  return if_positive(
      static_cast<double>(types.empty() ? facts.cluster(i).memory : types[i].memory) / gib);
}

std::optional<double> model_label(const SweepFacts& facts, std::size_t i) {
  return facts.label("model", i);
}

template <auto member>
std::optional<double> model_fact(const SweepFacts& facts, std::size_t i) {
  if (i >= facts.axes.models.size()) return std::nullopt;
  return static_cast<double>(facts.axes.models[i].*member);
}

std::optional<double> expert_count(const SweepFacts& facts, std::size_t i) {
  if (i >= facts.axes.models.size()) return std::nullopt;
  const auto& experts = facts.axes.models[i].experts;
  return experts ? experts->count : 0;
}

std::optional<double> schedule_number(const SweepFacts& facts, std::size_t i) {
  return facts.names.number_of(schedule_name(facts.axes.open.back().values[i].shown));
}

// Returns the number of chunks per device that a schedule sets, or else the default of its family.
std::optional<double> chunk_count(const SweepFacts& facts, std::size_t i) {
  const config::Value& schedule = facts.axes.open.back().values[i].shown;
  const config::Value* const chunks = find(schedule, "chunks");
  if (chunks != nullptr) return base::parse_number<double>(chunks->text).value_or(1);
  const auto entry =
      std::ranges::find(schedules::catalog(), schedule_name(schedule), &schedules::Entry::name);
  if (entry == schedules::catalog().end()) return 1;
  constexpr std::uint32_t devices = 2;
  return entry->placement({.devices = devices}).stages() / devices;
}

// A name in constraints that is no key of the scenario: its value is computed from the value of an
// axis.
struct FactName {
  std::string_view axis;
  std::string_view name;
  Type type;
  std::optional<double> (*value)(const SweepFacts&, std::size_t);  // for the axis's i-th value
  std::string_view unknown;                                        // why there may be no value
};

constexpr std::string_view needs_cluster = "no cluster defines it";
constexpr std::string_view needs_memory = "neither search.memory nor a cluster defines it";
constexpr std::string_view needs_model = "the sweep has no model";

// Names whose values follow from an axis. The names of the axis `gpu` follow from the axis of
// clusters if the scenario names no GPU. A sweep that sets training.sequence replaces `sequence` by
// that key.
constexpr std::array fact_names{
    FactName{"cluster", "cluster", Type::text, cluster_label, needs_cluster},
    FactName{"cluster", "gpus_per_node", Type::number, gpus_per_node, needs_cluster},
    FactName{"cluster", "nodes", Type::number, nodes, needs_cluster},
    FactName{"gpu", "gpu", Type::text, gpu_label, needs_cluster},
    FactName{"gpu", "memory_gib", Type::number, memory_gib, needs_memory},
    FactName{"model", "model", Type::text, model_label, needs_model},
    FactName{"model", "layers", Type::number, model_fact<&config::Model::layers>, needs_model},
    FactName{"model", "hidden", Type::number, model_fact<&config::Model::hidden>, needs_model},
    FactName{"model", "heads", Type::number, model_fact<&config::Model::heads>, needs_model},
    FactName{"model", "kv_heads", Type::number, model_fact<&config::Model::kv_heads>, needs_model},
    FactName{"model", "experts", Type::number, expert_count, needs_model},
    FactName{"model", "sequence", Type::number, model_fact<&config::Model::sequence>, needs_model},
    FactName{"schedule", "schedule", Type::text, schedule_number, {}},
    FactName{"schedule", "chunks", Type::number, chunk_count, {}},
};

// Returns the name of a key in constraints: its last part, or the whole key if that part is the
// name of a fact, such as `experts`, or of a property of the model, which may come from a file.
std::string short_name(const std::string& key) {
  const std::string last = key.substr(key.rfind('.') + 1);
  const bool is_fact = std::ranges::find(fact_names, last, &FactName::name) != fact_names.end();
  // Sizes of an encoder of images have the names of those of the language model.
  const bool is_of_encoder = key.starts_with("modules.");
  return is_in_whole(key) || is_of_encoder || (is_fact && key != "training.sequence") ? key : last;
}

class NameMaker {
 public:
  NameMaker(const Sweep& sweep, const std::vector<ClusterFacts>& facts, SweepAxes& axes)
      : axes_(axes), facts_{sweep, facts, axes, names_} {}

  Names make() {
    collect();
    for (const config::KeyRow& row : scenario_rows())
      if (has_name(row)) add_key(row);
    for (const auto& [key, type] : types_)
      if (!names_.find(key)) names_.add({short_name(key), key, type, "", {}, true}, 0);
    for (const Scalar& scalar : fixed_)
      if (const auto slot = names_.find(scalar.key))
        names_.values()[*slot] = number_of(scalar.text, names_[*slot].type);
    for (SweepAxis& axis : axes_.open)
      if (!is_whole(axis.info.key)) add_key_names(axis);
    // The number of microbatches follows from the global batch, which is divided over replicas.
    if (types_.contains("global_batch") && !types_.contains("microbatches"))
      names_.define("microbatches", "global_batch / (dp * microbatch_size)");
    names_.define("gpus", "tp * cp * pp * dp");
    for (const FactName& name : fact_names) add_fact_name(name);
    list_schedules();
    return std::move(names_);
  }

 private:
  // Collects the types of all keys that the scenario or an open axis sets.
  void collect() {
    config::Value scenario = axes_.scenario;
    for (const SweepAxis& axis : axes_.open) at_path(scenario, axis.path) = {};
    for (const SweepAxis& axis : axes_.fixed)
      if (is_whole(axis.info.key)) at_path(scenario, axis.path) = {};
    fixed_ = scalars(scenario, "");
    for (Scalar& scalar : fixed_) note_type(scalar);
    for (const SweepAxis& axis : axes_.open)
      if (!is_whole(axis.info.key))
        for (const AxisValue& value : axis.values)
          for (Scalar& scalar : scalars_of_value(axis, value)) note_type(scalar);
  }

  static std::vector<Scalar> scalars_of_value(const SweepAxis& axis, const AxisValue& value) {
    // A list is not among the scalars; constraints can compare the whole list as a text.
    std::vector<Scalar> texts = scalars(value.shown, axis.info.key);
    if (value.shown.kind == config::Value::Kind::list)
      texts.push_back({axis.info.key, line_of(value.shown)});
    return texts;
  }

  // Records the type of a key's value. A key whose values have different types counts as a text.
  void note_type(Scalar& scalar) {
    scalar.key = name_key(scalar.key);
    const Type type = type_of(scalar.text);
    const auto [position, is_new] = types_.try_emplace(scalar.key, type);
    if (!is_new && position->second != type) position->second = Type::text;
  }

  void add_key(const config::KeyRow& row) {
    const bool is_set = types_.contains(row.name);
    // The name `microbatches` is then defined by make(), as an expression of the global batch.
    if (row.name == "microbatches" && !is_set && types_.contains("global_batch")) return;
    std::string value(row.info.default_value);
    // A number by default "all" or "as many as fit" has no value unless the sweep sets it.
    const bool is_number =
        row.value.type == config::ValueType::count || row.value.type == config::ValueType::number;
    if (is_number && type_of(value) == Type::text) value.clear();
    const Type type = value.empty() ? Type::number : type_of(value);
    const std::string why = is_set || !value.empty() ? "" : "the sweep does not set it";
    Name name{short_name(row.name), row.name, type, why, {}, is_set};
    if (row.value.type == config::ValueType::choice && !row.value.list)
      name.texts = {row.value.choices.begin(), row.value.choices.end()};
    names_.add(std::move(name), value.empty() ? 0 : number_of(value, type));
  }

  double number_of(const std::string& text, Type type) {
    if (type == Type::text) return names_.number_of(text);
    if (type == Type::truth) return text == "true" ? 1 : 0;
    return base::parse_number<double>(text).value_or(0);
  }

  void add_key_names(SweepAxis& axis) {
    std::map<std::size_t, double> default_values;
    for (const AxisValue& value : axis.values)
      for (const Scalar& scalar : scalars_of_value(axis, value))
        if (const auto slot = names_.find(name_key(scalar.key)))
          default_values[*slot] = names_.values()[*slot];
    for (AxisValue& value : axis.values) {
      std::map<std::size_t, double> values = default_values;
      for (const Scalar& scalar : scalars_of_value(axis, value))
        if (const auto slot = names_.find(name_key(scalar.key)))
          values[*slot] = number_of(scalar.text, names_[*slot].type);
      value.names.assign(values.begin(), values.end());
    }
  }

  void add_fact_name(const FactName& row) {
    const bool of_cluster = row.axis == "gpu" && axes_.gpu_types.empty();
    SweepAxis* axis = nullptr;
    for (SweepAxis& open : axes_.open)
      if (open.info.key == (of_cluster ? "cluster" : row.axis)) axis = &open;
    const std::size_t count = axis == nullptr ? 1 : axis->values.size();
    std::string_view why;
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<double> value = row.value(facts_, i);
      if (!value) why = row.unknown;
      values.push_back(value.value_or(0));
    }
    const Name name{std::string(row.name), "", row.type, std::string(why), {}};
    const std::size_t slot = names_.add(name, values.front());
    for (std::size_t i = 0; axis != nullptr && i < count; ++i)
      axis->values[i].names.emplace_back(slot, values[i]);
  }

  // Adds every schedule that exists to the values of the name `schedule`, so that constraints may
  // also name one that the sweep does not have.
  void list_schedules() {
    std::vector<std::string>& schedules = names_[*names_.find("schedule")].texts;
    const auto add = [&](std::string name) {
      if (std::ranges::find(schedules, name) == schedules.end())
        schedules.push_back(std::move(name));
    };
    for (const std::string_view name : schedule_names()) add(std::string(name));
    for (const AxisValue& value : axes_.open.back().values) add(schedule_name(value.shown));
  }

  SweepAxes& axes_;
  Names names_;
  SweepFacts facts_;
  std::vector<Scalar> fixed_;
  std::map<std::string, Type> types_;
};

}  // namespace

Names make_names(const Sweep& sweep, const std::vector<ClusterFacts>& facts, SweepAxes& axes) {
  return NameMaker(sweep, facts, axes).make();
}

}  // namespace pipewright::search
