#include "sim/config/memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

// Returns the items of a list. Throws an Error unless it has one item, for all devices, or one item
// per device.
std::vector<Field> per_device(const Field& field, std::uint32_t devices, std::string_view allowed) {
  std::vector<Field> fields = items(field, allowed);
  if (fields.size() != 1 && fields.size() != devices)
    throw Error(field.value.origin, fmt::format("{} has {} values", field.name, fields.size()))
        .allow(fmt::format("1, or one per device ({})", devices));
  return fields;
}

DeviceBytes read_bytes(const Field& field, std::uint32_t devices) {
  DeviceBytes bytes;
  bytes.values.clear();
  for (const Field& item :
       per_device(field, devices, "a size or a list of sizes, such as 24 MiB or [24 MiB, 20 MiB]"))
    bytes.values.push_back(read_size(item, "a size of memory"));
  return bytes;
}

// Amount of activations that a backward pass frees, in bytes or as a fraction of all activations.
struct Release {
  std::optional<double> share;
  std::uint64_t bytes = 0;

  std::uint64_t of(std::uint64_t whole) const {
    if (!share) return bytes;
    return std::min(whole,
                    static_cast<std::uint64_t>(std::round(*share * static_cast<double>(whole))));
  }
};

struct Releases {
  std::vector<Release> values;
  Origin origin;
  std::string name;

  const Release& at(std::size_t device) const {
    return values.size() == 1 ? values.front() : values.at(device);
  }
};

constexpr std::string_view release_noun = "a release";
constexpr std::string_view release_allowed =
    "a size or a share of activation.per_microbatch, such as 24 MiB or 40 %";

Release read_release(const Field& field) {
  if (field.value.kind != Value::Kind::text) throw wrong(field, release_allowed);
  if (field.value.text.ends_with('%'))
    return {.share = parse_share(field.value.text, subject(field), release_noun)};
  return {.share = {}, .bytes = parse_size(field.value.text, subject(field), release_noun)};
}

Releases read_releases(const Field& field, std::uint32_t devices) {
  Releases releases{{}, field.value.origin, field.name};
  for (const Field& item : per_device(field, devices, release_allowed))
    releases.values.push_back(read_release(item));
  return releases;
}

struct ActivationDraft {
  std::uint32_t devices = 0;
  DeviceBytes whole;
  std::optional<Releases> input_grad;
  std::optional<Releases> weight_grad;
};

template <auto read, auto member>
constexpr Reader<ActivationDraft> per_device_of{
    [](const Field& field, ActivationDraft& draft) { draft.*member = read(field, draft.devices); },
    {ValueType::size, true}};

constexpr std::array activation_table{
    Key<ActivationDraft>{
        {.name = "per_microbatch",
         .help = "activation bytes of a microbatch on a device, all chunks together",
         .required = true},
        per_device_of<read_bytes, &ActivationDraft::whole>},
    Key<ActivationDraft>{
        {.name = "released_by_input_grad",
         .help = "part of per_microbatch that I frees, in bytes or percent; default: half"},
        per_device_of<read_releases, &ActivationDraft::input_grad>},
    Key<ActivationDraft>{
        {.name = "released_by_weight_grad",
         .help = "part of per_microbatch that W frees, in bytes or percent; default: the rest"},
        per_device_of<read_releases, &ActivationDraft::weight_grad>},
};

// Bytes that a pass frees on a device. Throws an Error if they are more than `whole`.
std::uint64_t part_of(std::uint64_t whole, const Releases& releases, std::size_t device) {
  const std::uint64_t part = releases.at(device).of(whole);
  if (part > whole)
    throw Error(releases.origin,
                fmt::format("{} is {} bytes on device {}", releases.name, part, device))
        .allow(fmt::format("at most the {} bytes of activation.per_microbatch", whole));
  return part;
}

// Activation bytes of a microbatch that I frees on a device; W frees the rest.
std::uint64_t input_grad_part(const ActivationDraft& draft, std::size_t device) {
  const std::uint64_t whole = draft.whole.at(device);
  if (!draft.input_grad && !draft.weight_grad)
    return Release{.share = typical_input_grad_release}.of(whole);
  if (!draft.input_grad) return whole - part_of(whole, *draft.weight_grad, device);
  const std::uint64_t input_grad = part_of(whole, *draft.input_grad, device);
  if (!draft.weight_grad) return input_grad;

  const std::uint64_t weight_grad = part_of(whole, *draft.weight_grad, device);
  const bool is_rounded = draft.input_grad->at(device).share || draft.weight_grad->at(device).share;
  const std::uint64_t sum = input_grad + weight_grad;  // both are at most 2^63
  const std::uint64_t difference = std::max(sum, whole) - std::min(sum, whole);
  if (difference > (is_rounded ? 1 : 0))
    throw Error(draft.weight_grad->origin,
                fmt::format("{} and {} add up to {} of {} bytes on device {}",
                            draft.input_grad->name, draft.weight_grad->name, sum, whole, device))
        .suggest("leave out one of them, which then is the rest");
  return input_grad;
}

struct StateDraft {
  State state;
  std::uint32_t devices = 0;
};

template <auto member>
constexpr Reader<StateDraft> state_of{[](const Field& field, StateDraft& draft) {
                                        draft.state.*member = read_bytes(field, draft.devices);
                                      },
                                      {ValueType::size, true}};

constexpr std::array state_table{
    Key<StateDraft>{
        {.name = "weights", .help = "bytes of one version of the parameters on a device"},
        state_of<&State::weights>},
    Key<StateDraft>{{.name = "gradients", .help = "bytes of the gradient buffers on a device"},
                    state_of<&State::gradients>},
    Key<StateDraft>{{.name = "optimizer", .help = "bytes of the optimizer's state on a device"},
                    state_of<&State::optimizer>},
};

}  // namespace

Activation read_activation(const Field& field, std::uint32_t devices) {
  ActivationDraft draft;
  draft.devices = devices;
  read_keys<ActivationDraft>(field, activation_table, draft);

  std::size_t count = draft.whole.values.size();
  for (const auto& releases : {draft.input_grad, draft.weight_grad})
    if (releases) count = std::max(count, releases->values.size());
  Activation activation;
  activation.per_microbatch.values.resize(count);
  activation.released_by_input_grad.values.resize(count);
  activation.released_by_weight_grad.values.resize(count);
  for (std::size_t device = 0; device < count; ++device) {
    const std::uint64_t whole = draft.whole.at(device);
    const std::uint64_t part = input_grad_part(draft, device);
    activation.per_microbatch.values[device] = whole;
    activation.released_by_input_grad.values[device] = part;
    activation.released_by_weight_grad.values[device] = whole - part;
  }
  return activation;
}

State read_state(const Field& field, std::uint32_t devices) {
  StateDraft draft{{}, devices};
  read_keys<StateDraft>(field, state_table, draft);
  return draft.state;
}

std::vector<KeyRow> activation_keys() { return rows_of(activation_table); }
std::vector<KeyRow> state_keys() { return rows_of(state_table); }

}  // namespace pipewright::config
