#include "sim/config/fine_tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"

namespace pipewright::config {
namespace {

std::bitset<lora_modules.size()> read_lora_modules(const Field& field) {
  constexpr std::string_view allowed = "a list of products, such as [linear_qkv, linear_proj]";
  std::bitset<lora_modules.size()> modules;
  for (const Field& item : items(field, allowed)) modules.set(read_choice(item, lora_modules));
  if (modules.none()) throw wrong(field, allowed);
  const auto exclude = [&](LoraModule whole, std::initializer_list<LoraModule> parts) {
    for (const LoraModule part : parts)
      if (modules.test(static_cast<std::size_t>(whole)) &&
          modules.test(static_cast<std::size_t>(part)))
        throw Error(
            field.value.origin,
            fmt::format("{} has {} and {}, which is a part of it", field.name,
                        base::name_of(lora_modules, whole), base::name_of(lora_modules, part)),
            field.name)
            .suggest(fmt::format("leave out {}", base::name_of(lora_modules, part)));
  };
  exclude(LoraModule::linear_qkv, {LoraModule::q_proj, LoraModule::k_proj, LoraModule::v_proj});
  exclude(LoraModule::linear_fc1, {LoraModule::gate_proj, LoraModule::up_proj});
  return modules;
}

constexpr std::array lora_table{
    Key<Lora>{{.name = "rank",
               .alias = "dim",
               .help = "width between the two matrices of an adapter",
               .default_value = "32"},
              count<&Lora::rank, "16">},
    Key<Lora>{
        {.name = "modules",
         .alias = "target_modules",
         .help = "products that have adapters",
         .default_value = "linear_qkv, linear_proj, linear_fc1, linear_fc2"},
        into<&Lora::modules, read_lora_modules>({ValueType::choice, true, lora_modules, nullptr})},
    Key<Lora>{{.name = "experts",
               .help = "adapters of routed experts: none, one for all experts of a rank, or one "
                       "for each",
               .default_value = "each"},
              choice<&Lora::experts, lora_experts_names>},
    Key<Lora>{{.name = "base",
               .help = "type in which frozen matrices of layers are stored, and dequantized before "
                       "products of another type; recipe: as training.precision stores weights",
               .default_value = "recipe"},
              choice<&Lora::base, lora_base_names>},
    Key<Lora>{{.name = "dropout",
               .help = "probability of the dropout before an adapter",
               .default_value = "0"},
              part<&Lora::dropout, "a probability">},
};

std::string enumeration(const std::vector<std::string_view>& names) {
  if (names.size() < 2) return names.empty() ? "" : std::string(names.front());
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

}  // namespace

Lora read_lora(const Field& field) { return read_map<lora_table>(field); }

std::vector<KeyRow> lora_keys() { return rows_of(lora_table); }

WeightGroups read_frozen(const Field& field) {
  WeightGroups groups;
  for (const Field& item : items(field, "a list of groups of weights, such as [embedding, head]"))
    groups.set(read_choice(item, weight_groups));
  return groups;
}

std::string to_string(const Lora& lora) {
  return fmt::format(
      "adapters of rank {} in {}{}", lora.rank,
      enumeration(base::selected_names(lora_modules, lora.modules)),
      lora.base == Lora::Base::recipe
          ? ""
          : fmt::format(" beside weights in {}", base::name_of(lora_base_names, lora.base)));
}

std::string groups_text(const WeightGroups& groups) {
  return groups.none() ? "none" : enumeration(base::selected_names(weight_groups, groups));
}

}  // namespace pipewright::config
