#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/letters.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/lora.hpp"

namespace pipewright::jobs::nemo {
namespace {

// Attributes of LoRA in Megatron-Bridge and NeMo 2 (megatron/bridge/peft/lora.py), and in the
// section lora_tuning of NeMo 1.
constexpr std::array lora_names{LoraName{"dim", "lora_rank"}, LoraName{"adapter_dim", "lora_rank"},
                                LoraName{"target_modules", "lora_modules"},
                                LoraName{"dropout", "lora_dropout"},
                                LoraName{"adapter_dropout", "lora_dropout"}};

// Returns the part of an entry's path below its section `peft`: "dim", "lora_tuning.adapter_dim";
// "peft" for the section itself, and empty for an entry that is not of adapters.
std::string_view part_of(const Named& entry) {
  const std::string_view path = entry.path;
  constexpr std::string_view section = "peft.";
  if (path == "peft" || path.ends_with(".peft")) return "peft";
  if (path.starts_with(section)) return path.substr(section.size());
  const std::size_t inside = path.find(".peft.");
  return inside == std::string_view::npos ? "" : path.substr(inside + 1 + section.size());
}

// Returns whether an entry chooses the kind of the adapters, among those whose numbers it may have.
bool is_choice(std::string_view part) {
  return part == "peft" || part == "peft_scheme" || part == "_target_";
}

bool states_no(const Named& entry) { return entry.values.empty() || is_off(entry.values.front()); }

Setting setting_of(const Named& entry, std::string_view name) {
  return {.name = std::string(name),
          .values = entry.values,
          .written = entry.written,
          .origin = entry.origin};
}

// Returns "lora" for "megatron.bridge.peft.lora.LoRA", and for "default_peft_config lora".
std::string kind_of(const Named& entry) {
  const std::string& value = entry.values.front();
  return base::lowercase(value.substr(value.find_last_of(". ") + 1));
}

// Adds what a LoRA of Megatron-Bridge adapts by default beside the products of every layer.
void add_defaults(const Named& kind, bool has_modules, bool has_experts, Request& request) {
  if (kind_of(kind) == "canonicallora" && !has_modules)
    request.settings.push_back({.name = "lora_modules",
                                .values = {"linear_q", "linear_k", "linear_v", "linear_proj",
                                           "linear_fc1_up", "linear_fc1_gate", "linear_fc2"},
                                .written = kind.written,
                                .origin = kind.origin});
  if (!has_experts)
    request.settings.push_back({.name = "lora_experts",
                                .values = {"shared"},
                                .written = "share_expert_adapters by default",
                                .origin = kind.origin});
}

}  // namespace

bool is_of_adapters(const Named& entry) { return !part_of(entry).empty(); }

bool add_adapters(std::span<const Named> named, Request& request) {
  const Named* kind = nullptr;
  const Named* first = nullptr;
  for (const Named& entry : named) {
    const std::string_view part = part_of(entry);
    if (part.empty()) continue;
    if (first == nullptr) first = &entry;
    if (is_choice(part)) kind = &entry;
  }
  if (first == nullptr || (kind != nullptr && states_no(*kind))) return false;
  // Overrides change the numbers of adapters that a recipe has.
  Named assumed = *first;
  assumed.values = {"lora"};
  const Named& chosen = kind != nullptr ? *kind : assumed;
  Setting scheme = setting_of(chosen, "lora");
  scheme.values = {kind_of(chosen)};
  request.settings.push_back(std::move(scheme));
  bool has_modules = false;
  bool has_experts = false;
  for (const Named& entry : named) {
    std::string_view part = part_of(entry);
    constexpr std::string_view section = "lora_tuning.";
    if (part.starts_with(section)) part = part.substr(section.size());
    if (part.empty() || is_choice(part) || states_no(entry)) continue;
    if (part == "experts_shared_outer_loras")
      throw refusal(setting_of(entry, part), adapters_are_not_modelled);
    if (part == "normalize_moe_lora")
      request.assumed.push_back(
          fmt::format("adapters of experts have the whole rank in spite of {}", entry.written));
    if (part == "share_expert_adapters") {
      has_experts = true;
      request.settings.push_back(setting_of(entry, "lora_experts"));
      request.settings.back().values = {"shared"};
    }
    const auto* const row = std::ranges::find(lora_names, part, &LoraName::name);
    if (row == lora_names.end()) continue;
    has_modules = has_modules || row->lora == "lora_modules";
    request.settings.push_back(setting_of(entry, row->lora));
  }
  const bool has_one_each = std::ranges::any_of(named, [](const Named& entry) {
    return part_of(entry) == "share_expert_adapters" && states_no(entry);
  });
  add_defaults(chosen, has_modules, has_experts || has_one_each, request);
  return true;
}

}  // namespace pipewright::jobs::nemo
