#include "sim/search/space/knowledge.hpp"

#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "sim/search/space/schedule_values.hpp"

namespace pipewright::search {
namespace {

constexpr double gib = 0x1.0p+30;

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, value);
  return code == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

Type type_of(std::string_view text) {
  if (text == "true" || text == "false") return Type::truth;
  return number_in(text) ? Type::number : Type::text;
}

// Constraints speak of single values without units, whether or not a sweep gives them.
bool has_name(const config::KeyRow& row) {
  using config::ValueType;
  const ValueType type = row.value.type;
  const bool plain = type == ValueType::flag || type == ValueType::choice ||
                     type == ValueType::count || type == ValueType::number;
  // The table's `devices` is pp, and the model has a sequence of its own.
  return plain && !is_in_whole(row.name) && row.name.find("stragglers") == std::string::npos &&
         row.name.find("slow_links") == std::string::npos && row.name != "devices" &&
         row.name != "training.sequence";
}

// Other keys than `devices` go by themselves.
std::string name_key(const std::string& key) { return key == "devices" ? "parallel.pp" : key; }

class Maker {
 public:
  Maker(const Sweep& sweep, const std::vector<ClusterFacts>& facts, Axes& axes)
      : sweep_(sweep), facts_(facts), axes_(axes) {}

  Names make() {
    collect();
    for (const config::KeyRow& row : scenario_rows())
      if (has_name(row)) add_key(row);
    for (const auto& [key, type] : types_)
      if (!names_.find(key)) names_.add({key.substr(key.rfind('.') + 1), key, type, ""}, 0);
    for (const Scalar& scalar : fixed_)
      if (const auto slot = names_.find(scalar.key))
        names_.values()[*slot] = number_of(scalar.text, names_[*slot].type);
    for (Axis& axis : axes_.open)
      if (!is_whole(axis.info.key)) tell_texts(axis);
    // A batch deals out over replicas and microbatches.
    if (types_.contains("global_batch") && !types_.contains("microbatches"))
      names_.define("microbatches", "global_batch / (dp * microbatch_size)");
    names_.define("gpus", "tp * cp * pp * dp");
    tell_clusters();
    tell_models();
    tell_schedules();
    list_texts();
    return std::move(names_);
  }

 private:
  // What stands in the scenario outside of open places.
  void collect() {
    config::Value scenario = axes_.scenario;
    for (const Axis& axis : axes_.open) at_path(scenario, axis.path) = {};
    for (const Axis& axis : axes_.fixed)
      if (is_whole(axis.info.key)) at_path(scenario, axis.path) = {};
    fixed_ = scalars(scenario, "");
    for (Scalar& scalar : fixed_) note(scalar);
    for (const Axis& axis : axes_.open)
      if (!is_whole(axis.info.key))
        for (const AxisValue& value : axis.values)
          for (Scalar& scalar : texts_of(axis, value)) note(scalar);
  }

  static std::vector<Scalar> texts_of(const Axis& axis, const AxisValue& value) {
    // A list is no scalar, but may be told by its text.
    if (value.shown.kind == config::Value::Kind::list)
      return {{axis.info.key, line_of(value.shown)}};
    return scalars(value.shown, axis.info.key);
  }

  // Of several kinds of texts under one key all are texts.
  void note(Scalar& scalar) {
    scalar.key = name_key(scalar.key);
    const Type type = type_of(scalar.text);
    const auto [place, is_new] = types_.try_emplace(scalar.key, type);
    if (!is_new && place->second != type) place->second = Type::text;
  }

  void add_key(const config::KeyRow& row) {
    const bool given = types_.contains(row.name);
    // May be defined by others instead.
    if (row.name == "microbatches" && !given && types_.contains("global_batch")) return;
    const std::string value(row.info.default_value);
    const Type type = value.empty() ? Type::number : type_of(value);
    const std::string why = given || !value.empty() ? "" : "the sweep does not give it";
    Name name{std::string(row.info.name), row.name, type, why, {}};
    if (row.value.type == config::ValueType::choice && !row.value.list)
      name.texts = {row.value.choices.begin(), row.value.choices.end()};
    names_.add(std::move(name), value.empty() ? 0 : number_of(value, type));
  }

  double number_of(const std::string& text, Type type) {
    if (type == Type::text) return names_.number_of(text);
    if (type == Type::truth) return text == "true" ? 1 : 0;
    return number_in(text).value_or(0);
  }

  void tell_texts(Axis& axis) {
    std::map<std::size_t, double> usual_values;
    for (const AxisValue& value : axis.values)
      for (const Scalar& scalar : texts_of(axis, value))
        if (const auto slot = names_.find(name_key(scalar.key)))
          usual_values[*slot] = names_.values()[*slot];
    for (AxisValue& value : axis.values) {
      std::map<std::size_t, double> values = usual_values;
      for (const Scalar& scalar : texts_of(axis, value))
        if (const auto slot = names_.find(name_key(scalar.key)))
          values[*slot] = number_of(scalar.text, names_[*slot].type);
      value.names.assign(values.begin(), values.end());
    }
  }

  // Adds a name that each value of a whole axis sets, or that has one value for all.
  void tell(std::string_view key, std::string_view name, Type type,
            const std::function<std::optional<double>(std::size_t)>& value_of,
            std::string_view unknown) {
    Axis* axis = nullptr;
    for (Axis& open : axes_.open)
      if (open.info.key == key) axis = &open;
    const std::size_t count = axis == nullptr ? 1 : axis->values.size();
    std::string why;
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<double> value = value_of(i);
      if (!value) why = unknown;
      values.push_back(value.value_or(0));
    }
    const std::size_t slot = names_.add({std::string(name), "", type, why}, values.front());
    for (std::size_t i = 0; axis != nullptr && i < count; ++i)
      axis->values[i].names.emplace_back(slot, values[i]);
  }

  static std::optional<double> known(double number) {
    return number > 0 ? std::optional(number) : std::nullopt;
  }

  // The label of a value of a whole axis, open or fixed.
  std::optional<double> label(std::string_view key, std::size_t i) {
    const Axis* const open = find_axis(axes_.open, key);
    const Axis* const axis = open != nullptr ? open : find_axis(axes_.fixed, key);
    return axis == nullptr ? std::nullopt
                           : std::optional(names_.number_of(axis->info.values.at(i)));
  }

  void tell_clusters() {
    constexpr std::string_view none = "no cluster says it";
    const auto fact = [&](std::size_t i) { return i < facts_.size() ? facts_[i] : ClusterFacts{}; };
    tell(
        "cluster", "cluster", Type::text, [&](std::size_t i) { return label("cluster", i); }, none);
    tell(
        "cluster", "gpus_per_node", Type::number,
        [&](std::size_t i) { return known(fact(i).gpus_per_node); }, none);
    tell(
        "cluster", "nodes", Type::number,
        [&](std::size_t i) -> std::optional<double> {
          const ClusterFacts cluster = fact(i);
          if (cluster.gpus == 0 || cluster.gpus_per_node == 0) return std::nullopt;
          return (cluster.gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
        },
        none);
    // A GPU that the scenario names stands above the cluster's.
    const bool named = !axes_.gpu_types.empty();
    const std::string_view key = named ? "gpu" : "cluster";
    tell(
        key, "gpu", Type::text,
        [&](std::size_t i) -> std::optional<double> {
          if (named) return label("gpu", i);
          return fact(i).gpu.empty() ? std::nullopt : std::optional(names_.number_of(fact(i).gpu));
        },
        none);
    tell(
        key, "memory_gib", Type::number,
        [&](std::size_t i) -> std::optional<double> {
          if (sweep_.memory) return static_cast<double>(*sweep_.memory) / gib;
          return known(static_cast<double>(named ? axes_.gpu_types[i].memory : fact(i).memory) /
                       gib);
        },
        "neither search.memory nor a cluster says it");
  }

  void tell_models() {
    constexpr std::string_view none = "there is no model";
    tell(
        "model", "model", Type::text, [&](std::size_t i) { return label("model", i); }, none);
    const auto add = [&](std::string_view name, auto member) {
      tell(
          "model", name, Type::number,
          [&](std::size_t i) -> std::optional<double> {
            if (i >= axes_.models.size()) return std::nullopt;
            return static_cast<double>(member(axes_.models[i]));
          },
          none);
    };
    add("layers", [](const config::Model& m) { return m.layers; });
    add("hidden", [](const config::Model& m) { return m.hidden; });
    add("heads", [](const config::Model& m) { return m.heads; });
    add("kv_heads", [](const config::Model& m) { return m.kv_heads; });
    add("experts", [](const config::Model& m) { return m.experts ? m.experts->count : 0; });
    // That of `training`, where it is given, has its name already.
    if (!types_.contains("training.sequence"))
      add("sequence", [](const config::Model& m) { return m.sequence; });
  }

  void tell_schedules() {
    const Axis& axis = axes_.open.back();
    tell(
        "schedule", "schedule", Type::text,
        [&](std::size_t i) {
          return std::optional(names_.number_of(schedule_name(axis.values[i].shown)));
        },
        "");
    tell(
        "schedule", "chunks", Type::number,
        [&](std::size_t i) {
          const config::Value* const chunks = find(axis.values[i].shown, "chunks");
          return std::optional(chunks == nullptr ? 1.0 : number_in(chunks->text).value_or(1));
        },
        "");
  }

  // What these can be at all, whether or not it is in this sweep.
  void list_texts() {
    std::vector<std::string>& schedules = names_[*names_.find("schedule")].texts;
    for (const std::string_view name : schedule_names()) schedules.emplace_back(name);
    for (const AxisValue& value : axes_.open.back().values)
      schedules.push_back(schedule_name(value.shown));
  }

  const Sweep& sweep_;
  const std::vector<ClusterFacts>& facts_;
  Axes& axes_;
  Names names_;
  std::vector<Scalar> fixed_;
  std::map<std::string, Type> types_;
};

}  // namespace

Names make_names(const Sweep& sweep, const std::vector<ClusterFacts>& facts, Axes& axes) {
  return Maker(sweep, facts, axes).make();
}

}  // namespace pipewright::search
