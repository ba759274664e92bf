#include "sim/cluster/message_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/platform/error.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::string_view of_all = "collective";

// "ll-latency" is "latency" of protocol LL.
std::optional<Protocol> protocol_of(std::string_view suffix) {
  if (suffix.starts_with("ll-")) return Protocol::ll;
  if (suffix.starts_with("ll128-")) return Protocol::ll128;
  return std::nullopt;
}

struct Name {
  std::string_view owner;  // a class, or "collective"
  std::string_view suffix;
};
std::optional<Name> split(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  return Name{name.substr(0, dot), name.substr(dot + 1)};
}

const ParameterInfo* find(const Name& name) {
  for (const ParameterInfo& info : parameter_list())
    if (info.suffix == name.suffix && info.of_class == (name.owner != of_all)) return &info;
  return nullptr;
}

bool is_suffix(std::string_view suffix) {
  return std::ranges::any_of(parameter_list(),
                             [&](const ParameterInfo& info) { return info.suffix == suffix; });
}

std::string known_names(bool of_class) {
  std::string names;
  for (const ParameterInfo& info : parameter_list())
    if (info.of_class == of_class)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", info.suffix);
  return names;
}

[[noreturn]] void fail_unknown(const Name& name) {
  throw Error(fmt::format("property '{}.{}': there is no '{}'; there are {}", name.owner,
                          name.suffix, name.suffix, known_names(name.owner != of_all)));
}

// What is said by name, and is no number to fit.
bool set_choice(MessageModel& model, const Name& name, const std::string& value) {
  const std::string subject = fmt::format("property '{}.{}'", name.owner, name.suffix);
  if (name.owner == of_all && name.suffix == "nccl") {
    model.nccl = config::parse_nccl(value);
    if (!model.nccl)
      throw Error(fmt::format("{} is '{}': a version of NCCL 2, such as 2.27", subject, value));
    return true;
  }
  if (name.owner == of_all || name.suffix != "generation") return false;
  constexpr std::array<std::string_view, 5> generations{"1", "2", "3", "4", "5"};
  const auto found = std::ranges::find(generations, value);
  if (found == generations.end())
    throw Error(fmt::format("{} is '{}'; NVLinks are of generation {}", subject, value,
                            fmt::join(generations, ", ")));
  model.classes[std::string(name.owner)].generation =
      static_cast<std::uint32_t>(found - generations.begin()) + 1;
  return true;
}

std::string text_of(double value, ParameterUnit unit) {
  return unit == ParameterUnit::seconds ? fmt::format("{:g} us", value * 1e6)
                                        : fmt::format("{:g}", value);
}

void check(const Name& name, const ParameterInfo& info, double value) {
  if (value >= info.least && value <= info.most) return;
  throw Error(fmt::format("property '{}.{}' is {}; it may be from {} to {}: {}", name.owner,
                          name.suffix, text_of(value, info.unit), text_of(info.least, info.unit),
                          text_of(info.most, info.unit), info.help));
}

// The place of a number in the model; of a class that has none yet, null unless it is made.
double* find_number(MessageModel& model, const Name& name, bool make) {
  if (name.owner == of_all) {
    if (name.suffix == "launch") return &model.launch;
    if (name.suffix == "simple-launch") return &model.simple_launch;
    if (name.suffix == "ll128-launch") return &model.ll128_launch;
    if (name.suffix == "step") return &model.step;
    if (name.suffix == "message") return &model.message;
    if (name.suffix == "direct-ends") return &model.direct_ends;
    return &model.ring_ends;
  }
  auto place = model.classes.find(name.owner);
  if (place == model.classes.end()) {
    if (!make) return nullptr;
    place = model.classes.emplace(name.owner, ClassModel{}).first;
  }
  ClassModel& of = place->second;
  const auto value = [&](auto& optional) -> decltype(&*optional) {
    if (!optional && make) optional.emplace();
    return optional ? &*optional : nullptr;
  };
  if (name.suffix == "latency") return value(of.latency);
  if (name.suffix == "efficiency") return &of.efficiency;
  if (name.suffix == "message") return value(of.message);
  const bool is_latency = name.suffix.ends_with("-latency");
  if (const auto protocol = protocol_of(name.suffix)) {
    ProtocolCost* cost = value(of.by[static_cast<std::size_t>(*protocol)]);
    return cost == nullptr ? nullptr : is_latency ? &cost->latency : &cost->efficiency;
  }
  InSwitch* in_switch = value(of.in_switch);
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
  return names[static_cast<std::size_t>(protocol)];
}

const std::vector<ParameterInfo>& parameter_list() {
  using enum ParameterUnit;
  constexpr double second = 1;
  static const std::vector<ParameterInfo> list{
      {"launch", false, seconds, 0, second, "every operation, before its first step"},
      {"simple-launch", false, seconds, 0, second, "what more that takes by Simple than by LL"},
      {"ll128-launch", false, seconds, 0, second, "what more that takes by LL128 than by LL"},
      {"step", false, seconds, 0, second, "every step, beside the latency of links"},
      {"message", false, seconds, 0, second, "every further message of one GPU, sent directly"},
      {"ring-ends", false, steps, 0, 100, "a ring's copies from and into buffers, in its steps"},
      {"direct-ends", false, steps, 0, 100, "the copy of a GPU's own part, in direct messages"},
      {"latency", true, seconds, 0, second, "each link of the class"},
      {"efficiency", true, ratio, 1e-3, 10, "part of the links' bandwidth that payload reaches"},
      {"message", true, seconds, 0, second, "every further message that goes over these links"},
      {"ll-latency", true, ratio, 1e-3, 10, "a step by protocol LL, as part of the latency"},
      {"ll-efficiency", true, ratio, 1e-3, 1, "part of the bandwidth that payload gets by LL"},
      {"ll128-latency", true, ratio, 1e-3, 10, "a step by protocol LL128, as part of the latency"},
      {"ll128-efficiency", true, ratio, 1e-3, 1,
       "part of the bandwidth that payload gets by LL128"},
      {"sharp-latency", true, seconds, 0, second, "a reduction in the switches of these links"},
      {"sharp-efficiency", true, ratio, 1e-3, 10, "part of the bandwidth that it gets there"},
  };
  return list;
}

bool MessageModel::has(Protocol protocol) const {
  if (protocol == Protocol::simple) return true;
  return std::ranges::any_of(classes, [&](const auto& entry) {
    return entry.second.by[static_cast<std::size_t>(protocol)].has_value();
  });
}

const ClassModel& MessageModel::of(std::string_view link_class) const {
  static const ClassModel none;
  const auto found = classes.find(link_class);
  return found == classes.end() ? none : found->second;
}

MessageModel read_message_model(const std::vector<std::pair<std::string, std::string>>& properties,
                                const std::vector<std::string>& classes) {
  MessageModel model;
  for (const auto& [id, value] : properties) {
    const auto name = split(id);
    if (!name) continue;
    if (name->owner != of_all && std::ranges::find(classes, name->owner) == classes.end()) {
      // A parameter by its name, but of no links: a slip of the pen.
      if (is_suffix(name->suffix))
        throw Error(
            fmt::format("property '{}': no links are of class '{}'; the classes are {}, and "
                        "'collective' is all",
                        id, name->owner, fmt::join(classes, ", ")));
      continue;
    }
    if (set_choice(model, *name, value)) continue;
    const ParameterInfo* const info = find(*name);
    if (info == nullptr) fail_unknown(*name);
    const double number = read_value(*name, *info, value);
    check(*name, *info, number);
    *find_number(model, *name, true) = number;
  }
  return model;
}

void set_parameter(MessageModel& model, std::string_view text, double value) {
  const auto name = split(text);
  if (!name)
    throw Error(fmt::format("parameter '{}': collective.NAME or CLASS.NAME, as nic.latency", text));
  const ParameterInfo* const info = find(*name);
  if (info == nullptr) fail_unknown(*name);
  check(*name, *info, value);
  *find_number(model, *name, true) = value;
}

std::optional<double> parameter(const MessageModel& model, std::string_view text) {
  const auto name = split(text);
  if (!name || find(*name) == nullptr) return std::nullopt;
  // Nothing is made, so nothing is changed.
  const double* const number = find_number(const_cast<MessageModel&>(model), *name, false);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace pipewright::cluster
