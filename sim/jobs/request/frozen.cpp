#include "sim/jobs/request/frozen.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/config/fine_tuning.hpp"

namespace pipewright::jobs {
namespace {

// Groups of weights of a language model, all of those that it has.
std::vector<std::string> groups_of(Draft& draft) {
  const bool has_experts = draft.known("model.experts") != nullptr;
  std::vector<std::string> groups;
  for (const std::string_view group : config::weight_groups)
    if (has_experts || (group != "experts" && group != "router")) groups.emplace_back(group);
  return groups;
}

}  // namespace

void read_frozen(Draft& draft) {
  const Setting* const text = draft.find("freeze_language_model");
  const Setting* const encoder = draft.find("freeze_vision_model");
  const Setting* const projector = draft.find("freeze_vision_projection");
  // Jobs with adapters freeze all other weights anyway.
  const bool adapts = draft.at("training.lora") != nullptr;
  if (text != nullptr && draft.on(text->name) && !adapts)
    draft.set("training.frozen", config::make_list(groups_of(draft), text->origin), *text);
  const Setting* const first = encoder != nullptr ? encoder : projector;
  if (first == nullptr) return;
  if (draft.known("model.hidden") != nullptr && draft.known("model.vision") == nullptr) {
    for (const Setting* const setting : {encoder, projector})
      if (setting != nullptr) draft.without_effect(*setting, "the model has no encoder of images");
    return;
  }
  draft.set("modules.vision.tokens", "0", "the job does not state the patches of its images");
  std::vector<std::string> parts;
  if (encoder != nullptr && draft.on(encoder->name)) parts.emplace_back("encoder");
  if (projector != nullptr && draft.on(projector->name)) parts.emplace_back("projector");
  if (!adapts && !parts.empty())
    draft.set("modules.vision.frozen", config::make_list(parts, first->origin), *first);
  draft.assume(
      "all tokens are text: modules.vision.tokens sets the patches of an image, which "
      "depend on the data");
}

void rename_frozen(std::span<const FrozenName> names,
                   std::span<const std::string_view> frozen_by_default, Request& request) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(request.settings, name, &Setting::name) != request.settings.end();
  };
  bool has_any = false;
  for (Setting& setting : request.settings)
    if (const auto row =
            std::ranges::find(names, std::string_view(setting.name), &FrozenName::name);
        row != names.end()) {
      setting.name = row->frozen;
      has_any = true;
    }
  if (!has_any) return;
  for (const std::string_view name : frozen_by_default)
    if (!has(name))
      request.settings.push_back({.name = std::string(name),
                                  .values = {"true"},
                                  .written = fmt::format("{} by default", name),
                                  .origin = {.source = request.name}});
}

}  // namespace pipewright::jobs
