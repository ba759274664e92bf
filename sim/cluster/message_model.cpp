#include "sim/cluster/message_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/nccl_versions.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::string_view collective_owner = "collective";

// Protocol that a parameter is about, by its suffix: LL for "ll-latency", LL128 for
// "ll128-latency".
std::optional<Protocol> protocol_of(std::string_view suffix) {
  if (suffix.starts_with("ll-")) return Protocol::ll;
  if (suffix.starts_with("ll128-")) return Protocol::ll128;
  return std::nullopt;
}

struct Name {
  std::string_view owner;  // a link class, or "collective"
  std::string_view suffix;
};
std::optional<Name> split_parameter(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  return Name{name.substr(0, dot), name.substr(dot + 1)};
}

const ParameterInfo* find_parameter(const Name& name) {
  for (const ParameterInfo& info : parameter_list())
    if (info.suffix == name.suffix && info.is_per_class == (name.owner != collective_owner))
      return &info;
  return nullptr;
}

bool is_suffix(std::string_view suffix) {
  return std::ranges::any_of(parameter_list(),
                             [&](const ParameterInfo& info) { return info.suffix == suffix; });
}

std::string parameter_names(bool is_per_class) {
  std::string names;
  for (const ParameterInfo& info : parameter_list())
    if (info.is_per_class == is_per_class)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", info.suffix);
  return names;
}

[[noreturn]] void fail_unknown(const Name& name) {
  throw Error(
      fmt::format("property '{}.{}': '{}' is unknown", name.owner, name.suffix, name.suffix))
      .suggest(fmt::format("choose from {}", parameter_names(name.owner != collective_owner)));
}

// Sets a property that has a fixed set of values: NCCL's version, or an NVLink generation. Returns
// false for any other property, which is a number.
bool set_choice(MessageModel& model, const Name& name, const std::string& value) {
  const std::string subject = fmt::format("property '{}.{}'", name.owner, name.suffix);
  if (name.owner == collective_owner && name.suffix == "nccl") {
    model.nccl = config::parse_nccl(value);
    if (!model.nccl)
      throw Error(fmt::format("{} is '{}'", subject, value)).allow(config::nccl_versions);
    return true;
  }
  if (name.owner == collective_owner || name.suffix != "generation") return false;
  constexpr std::array<std::string_view, 5> generations{"1", "2", "3", "4", "5"};
  const auto it = std::ranges::find(generations, value);
  if (it == generations.end())
    throw Error(fmt::format("{} is '{}'; NVLink generations are {}", subject, value,
                            fmt::join(generations, ", ")));
  model.classes[std::string(name.owner)].generation =
      static_cast<std::uint32_t>(it - generations.begin()) + 1;
  return true;
}

std::string text_of(double value, ParameterUnit unit) {
  return unit == ParameterUnit::seconds ? fmt::format("{:g} us", value * 1e6)
                                        : fmt::format("{:g}", value);
}

void check_range(const Name& name, const ParameterInfo& info, double value) {
  if (value >= info.minimum && value <= info.maximum) return;
  throw Error(fmt::format("property '{}.{}' is {}; allowed are {} to {} ({})", name.owner,
                          name.suffix, text_of(value, info.unit), text_of(info.minimum, info.unit),
                          text_of(info.maximum, info.unit), info.help));
}

// Address of a number in the model. If the class or the number does not exist yet, it is created if
// `make` is set; otherwise the result is null.
double* find_number(MessageModel& model, const Name& name, bool make) {
  if (name.owner == collective_owner) {
    if (name.suffix == "launch") return &model.launch;
    if (name.suffix == "simple-launch") return &model.simple_launch;
    if (name.suffix == "ll128-launch") return &model.ll128_launch;
    if (name.suffix == "step") return &model.step;
    if (name.suffix == "post") return &model.post;
    if (name.suffix == "message") return &model.message;
    if (name.suffix == "direct-ends") return &model.direct_ends;
    return &model.ring_ends;
  }
  auto place = model.classes.find(name.owner);
  if (place == model.classes.end()) {
    if (!make) return nullptr;
    place = model.classes.emplace(name.owner, ClassModel{}).first;
  }
  ClassModel& class_model = place->second;
  const auto value = [&](auto& optional) -> decltype(&*optional) {
    if (!optional && make) optional.emplace();
    return optional ? &*optional : nullptr;
  };
  if (name.suffix == "latency") return value(class_model.latency);
  if (name.suffix == "efficiency") return &class_model.efficiency;
  if (name.suffix == "direct-efficiency") return &class_model.direct_efficiency;
  if (name.suffix == "message") return value(class_model.message);
  const bool is_latency = name.suffix.ends_with("-latency");
  if (const auto protocol = protocol_of(name.suffix)) {
    ProtocolCost* cost = value(class_model.per_protocol[static_cast<std::size_t>(*protocol)]);
    return cost == nullptr ? nullptr : is_latency ? &cost->latency : &cost->efficiency;
  }
  InSwitch* in_switch = value(class_model.in_switch);
  if (in_switch != nullptr && name.suffix == "sharp-gpu-latency") return &in_switch->gpu_latency;
  return in_switch == nullptr ? nullptr : is_latency ? &in_switch->latency : &in_switch->efficiency;
}

double read_value(const Name& name, const ParameterInfo& info, const std::string& text) {
  const std::string subject = fmt::format("property '{}.{}'", name.owner, name.suffix);
  if (info.unit == ParameterUnit::seconds) return config::parse_time(text, subject, "a latency");
  if (text == "0" || text == "0.0") return 0;
  return config::parse_positive_number(text, subject, "a ratio");
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  constexpr std::array<std::string_view, protocols> names{"Simple", "LL", "LL128"};
  return base::name_of(names, protocol);
}

const std::vector<ParameterInfo>& parameter_list() {
  using enum ParameterUnit;
  constexpr double one_second = 1;
  static const std::vector<ParameterInfo> list{
      {"launch", false, seconds, 0, one_second,
       "launch latency of an operation, before its first step"},
      {"simple-launch", false, seconds, 0, one_second,
       "additional launch latency of protocol Simple over LL"},
      {"ll128-launch", false, seconds, 0, one_second,
       "additional launch latency of protocol LL128 over LL"},
      {"step", false, seconds, 0, one_second,
       "latency of a step, in addition to that of its links"},
      {"post", false, seconds, 0, one_second,
       "time of the host to post a message of a ring over several nodes"},
      {"message", false, seconds, 0, one_second,
       "gap between successive messages that a GPU sends directly"},
      {"ring-ends", false, steps, 0, 100,
       "copies from and into user buffers at the ends of a ring, in ring steps"},
      {"direct-ends", false, steps, 0, 100,
       "copy of a GPU's own part in direct exchanges, in messages"},
      {"latency", true, seconds, 0, one_second, "latency of each link of the class"},
      {"efficiency", true, ratio, 1e-3, 10,
       "fraction of the links' bandwidth that payload reaches"},
      {"direct-efficiency", true, ratio, 1e-3, 1,
       "fraction of the bandwidth that remains if many ranks exchange messages directly"},
      {"message", true, seconds, 0, one_second, "gap between successive messages over these links"},
      {"ll-latency", true, ratio, 1e-3, 10,
       "latency of a step by LL, as a fraction of the links' latency"},
      {"ll-efficiency", true, ratio, 1e-3, 1,
       "fraction of the bandwidth that payload reaches by LL"},
      {"ll128-latency", true, ratio, 1e-3, 10,
       "latency of a step by LL128, as a fraction of the links' latency"},
      {"ll128-efficiency", true, ratio, 1e-3, 1,
       "fraction of the bandwidth that payload reaches by LL128"},
      {"sharp-latency", true, seconds, 0, one_second,
       "latency of a reduction in the switches behind these links"},
      {"sharp-gpu-latency", true, seconds, 0, one_second,
       "further latency of such a reduction for each GPU that sums a part"},
      {"sharp-efficiency", true, ratio, 1e-3, 10,
       "fraction of the bandwidth that such a reduction reaches"},
  };
  return list;
}

bool MessageModel::has(Protocol protocol) const {
  if (protocol == Protocol::simple) return true;
  return std::ranges::any_of(classes, [&](const auto& entry) {
    return entry.second.per_protocol[static_cast<std::size_t>(protocol)].has_value();
  });
}

std::uint32_t MessageModel::nvlink_generation() const {
  std::uint32_t lowest = 0;
  for (const auto& [name, link_class] : classes)
    if (link_class.generation > 0 && (lowest == 0 || link_class.generation < lowest))
      lowest = link_class.generation;
  return lowest;
}

const ClassModel& MessageModel::of(std::string_view link_class) const {
  static const ClassModel none;
  const auto it = classes.find(link_class);
  return it == classes.end() ? none : it->second;
}

MessageModel read_message_model(const std::vector<std::pair<std::string, std::string>>& properties,
                                const std::vector<std::string>& classes) {
  MessageModel model;
  for (const auto& [id, value] : properties) {
    const auto name = split_parameter(id);
    if (!name) continue;
    if (name->owner != collective_owner &&
        std::ranges::find(classes, name->owner) == classes.end()) {
      // The suffix is a parameter but the class has no links: probably a misspelled class.
      if (is_suffix(name->suffix))
        throw Error(
            fmt::format("property '{}': there are no links of class '{}'; the classes are {}, and "
                        "'collective' for all links",
                        id, name->owner, fmt::join(classes, ", ")));
      continue;
    }
    if (set_choice(model, *name, value)) continue;
    const ParameterInfo* const info = find_parameter(*name);
    if (info == nullptr) fail_unknown(*name);
    const double number = read_value(*name, *info, value);
    check_range(*name, *info, number);
    *find_number(model, *name, true) = number;
  }
  return model;
}

void set_parameter(MessageModel& model, std::string_view text, double value) {
  const auto name = split_parameter(text);
  if (!name)
    throw Error(fmt::format(
        "parameter '{}' must be collective.NAME or CLASS.NAME, such as nic.latency", text));
  const ParameterInfo* const info = find_parameter(*name);
  if (info == nullptr) fail_unknown(*name);
  check_range(*name, *info, value);
  *find_number(model, *name, true) = value;
}

std::optional<double> parameter(const MessageModel& model, std::string_view text) {
  const auto name = split_parameter(text);
  if (!name || find_parameter(*name) == nullptr) return std::nullopt;
  // Casting away const is safe: find_number does not change the model if it must not make a number.
  const double* const number = find_number(const_cast<MessageModel&>(model), *name, false);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace pipewright::cluster
