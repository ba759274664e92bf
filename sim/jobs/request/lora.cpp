#include "sim/jobs/request/lora.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/letters.hpp"
#include "sim/config/fine_tuning.hpp"

namespace pipewright::jobs {
namespace {

// Names of products in models of Hugging Face, torchtitan and Megatron-Bridge's canonical LoRA, by
// the names of a scenario.
struct Alias {
  std::string_view name, module;
};
constexpr std::array aliases{
    Alias{"o_proj", "linear_proj"},
    Alias{"down_proj", "linear_fc2"},
    Alias{"qkv_proj", "linear_qkv"},
    Alias{"gate_up_proj", "linear_fc1"},
    Alias{"q_a_proj", "linear_q_down_proj"},
    Alias{"q_b_proj", "linear_q_up_proj"},
    Alias{"kv_a_proj_with_mqa", "linear_kv_down_proj"},
    Alias{"kv_b_proj", "linear_kv_up_proj"},
    Alias{"linear_q", "q_proj"},
    Alias{"linear_k", "k_proj"},
    Alias{"linear_v", "v_proj"},
    Alias{"linear_fc1_gate", "gate_proj"},
    Alias{"linear_fc1_up", "up_proj"},
    Alias{"attention_qkv", "linear_qkv"},
    Alias{"attention_dense", "linear_proj"},
    Alias{"mlp_fc1", "linear_fc1"},
    Alias{"mlp_fc2", "linear_fc2"},
    Alias{"wq", "q_proj"},
    Alias{"wk", "k_proj"},
    Alias{"wv", "v_proj"},
    Alias{"wo", "linear_proj"},
    Alias{"w1", "gate_proj"},
    Alias{"w3", "up_proj"},
    Alias{"w2", "linear_fc2"},
};

// The products of a layer that is not fused, and those of one that is.
constexpr std::array<std::string_view, 7> separate{"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                   "gate_proj", "up_proj", "down_proj"};
constexpr std::array<std::string_view, 4> fused{"linear_qkv", "linear_proj", "linear_fc1",
                                                "linear_fc2"};

std::string_view last_part_of(std::string_view path) {
  return path.substr(path.find_last_of('.') + 1);
}

// Returns whether a name matches a pattern with one star or none.
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1));
}

// Returns the text of a list without brackets, quotes and spaces: "linear_qkv,linear_proj".
std::string without_brackets(std::string text) {
  std::erase_if(text,
                [](char c) { return std::string_view("[]()'\" ").find(c) != std::string::npos; });
  return text;
}

std::string module_of(std::string_view name) {
  const auto* const alias = std::ranges::find(aliases, name, &Alias::name);
  if (alias != aliases.end()) return std::string(alias->module);
  const bool is_known = std::ranges::find(config::lora_modules, name) != config::lora_modules.end();
  return is_known ? std::string(name) : "";
}

// Returns the scenario's names of the products that a list of names or patterns selects.
std::vector<std::string> modules_of(const Setting& setting, bool is_fused) {
  std::vector<std::string> modules;
  const auto add = [&](std::string_view name) {
    const std::string module = module_of(name);
    if (module.empty())
      throw refusal(setting, fmt::format("adapters of {} are not modelled", name))
          .allow(fmt::format("{}", fmt::join(config::lora_modules, ", ")));
    if (std::ranges::find(modules, module) == modules.end()) modules.push_back(module);
  };
  const std::span<const std::string_view> all =
      is_fused ? std::span<const std::string_view>(fused) : separate;
  for (const std::string& value : setting.values)
    for (std::string rest = without_brackets(value); !rest.empty();) {
      const std::size_t comma = rest.find(',');
      const std::string name = rest.substr(0, comma);
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
      if (name == "all-linear" || name == "all" || name == "all_linear") {
        for (const std::string_view each : all) add(each);
      } else if (const std::string_view last = last_part_of(name);
                 last.find('*') != std::string_view::npos) {
        bool is_found = false;
        for (const std::string_view each : all)
          if (matches(last, each)) {
            add(each);
            is_found = true;
          }
        if (!is_found) add(last);
      } else if (name.find("layers.") != std::string::npos) {
        throw refusal(setting, "adapters of single layers are not modelled")
            .suggest("name products of all layers, such as linear_qkv");
      } else {
        add(last);
      }
    }
  return modules;
}

}  // namespace

void read_lora(Draft& draft) {
  const Setting* const kind = draft.find("lora");
  const std::string scheme =
      kind == nullptr || kind->values.empty() ? "" : base::lowercase(kind->values.front());
  if (kind == nullptr || scheme == "none" || scheme == "null" || scheme == "false") {
    for (const Flag& flag : lora_flags)
      if (const Setting* const setting = draft.find(flag.name))
        draft.without_effect(*setting, "no adapters are trained");
    return;
  }
  constexpr std::array<std::string_view, 3> kinds{"lora", "canonicallora", "canonical_lora"};
  if (std::ranges::find(kinds, scheme) == kinds.end())
    throw refusal(*kind, adapters_are_not_modelled)
        .suggest("use LoRA, or train all weights instead")
        .allow("LoRA");
  const Setting* const rank = draft.find("lora_rank");
  draft.set("training.lora.rank", rank == nullptr ? "32" : fmt::format("{}", whole_number(*rank)),
            rank == nullptr ? *kind : *rank);
  const bool is_fused = draft.request().dialect == Dialect::recipe;
  if (const Setting* const names = draft.find("lora_modules"))
    draft.set("training.lora.modules",
              config::make_list(modules_of(*names, is_fused), names->origin), *names);
  if (const Setting* const experts = draft.find("lora_experts");
      experts && draft.known("model.experts") != nullptr)
    draft.set("training.lora.experts", draft.text("lora_experts"), *experts);
  if (const Setting* const base = draft.find("lora_base"))
    draft.set("training.lora.base", draft.text("lora_base"), *base);
  if (const Setting* const dropout = draft.find("lora_dropout"); dropout)
    if (const double share = draft.fraction("lora_dropout", 0); share > 0)
      draft.set("training.lora.dropout", fmt::format("{}", share), *dropout);
}

void rename_lora(std::span<const LoraName> names, Request& request) {
  for (Setting& setting : request.settings)
    if (const auto row = std::ranges::find(names, std::string_view(setting.name), &LoraName::name);
        row != names.end())
      setting.name = row->lora;
}

}  // namespace pipewright::jobs
