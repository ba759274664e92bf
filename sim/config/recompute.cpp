#include "sim/config/recompute.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"

namespace pipewright::config {
namespace {

using Granularity = Recompute::Granularity;

struct RecomputeDraft {
  Recompute recompute;
  bool uniform = true;
  std::uint32_t layers = 0;
};

constexpr std::array<std::string_view, 2> recompute_methods{"uniform", "block"};

constexpr std::array recompute_table{
    Key<RecomputeDraft>{
        {.name = "granularity", .help = "granularity of recomputation", .default_value = "full"},
        {[](const Field& field, RecomputeDraft& draft) {
           draft.recompute.granularity =
               static_cast<Granularity>(read_choice(field, recompute_granularities));
         },
         {ValueType::choice, false, recompute_granularities, nullptr}}},
    Key<RecomputeDraft>{{.name = "modules",
                         .help = "modules that selective recomputation computes again",
                         .default_value = "core_attn"},
                        {[](const Field& field, RecomputeDraft& draft) {
                           draft.recompute.modules.reset();
                           for (const Field& item :
                                items(field, "a list of modules, such as [mlp]"))
                             draft.recompute.modules.set(read_choice(item, recompute_modules));
                         },
                         {ValueType::choice, true, recompute_modules, nullptr}}},
    Key<RecomputeDraft>{
        {.name = "method",
         .help = "layers that full recomputation covers (all of them, or a block at the "
                 "start of each stage)",
         .default_value = "uniform"},
        {[](const Field& field, RecomputeDraft& draft) {
           draft.uniform = read_choice(field, recompute_methods) == 0;
         },
         {ValueType::choice, false, recompute_methods, nullptr}}},
    Key<RecomputeDraft>{
        {.name = "num_layers",
         .help = "number of layers of a block; with uniform: of layers per stored input",
         .unit = "layers"},
        count<&RecomputeDraft::layers, "4">},
    Key<RecomputeDraft>{{.name = "every",
                         .help = "period of recomputed layers; other layers store all activations",
                         .unit = "layers",
                         .default_value = "1"},
                        {[](const Field& field, RecomputeDraft& draft) {
                           draft.recompute.every = read_count(field, "2");
                         },
                         {ValueType::count}}},
    Key<RecomputeDraft>{{.name = "early_stop",
                         .help = "stop recomputing a layer before its last product",
                         .default_value = "stack.recompute.early_stop"},
                        {[](const Field& field, RecomputeDraft& draft) {
                           draft.recompute.early_stop = read_flag(field);
                         },
                         {ValueType::flag, false, flag_names, nullptr}}},
};

Recompute read_recompute_map(const Field& field) {
  RecomputeDraft draft = read_map<recompute_table>(field);
  Recompute& recompute = draft.recompute;
  const bool has_granularity = find(field.value, "granularity") != nullptr;
  if (!has_granularity) {
    const bool has_modules = find(field.value, "modules") != nullptr;
    recompute.granularity = has_modules ? Granularity::selective : Granularity::full;
  }
  const auto require_granularity = [&](std::string_view key, Granularity granularity) {
    const Value* const value = find(field.value, key);
    if (value != nullptr && recompute.granularity != granularity)
      throw wrong({*value, fmt::format("{}.{}", field.name, key)},
                  fmt::format("no value, as the key belongs to granularity {}",
                              recompute_granularities[static_cast<std::size_t>(granularity)]));
  };
  require_granularity("modules", Granularity::selective);
  require_granularity("method", Granularity::full);
  require_granularity("num_layers", Granularity::full);
  if (draft.layers == 0 && !draft.uniform)
    throw Error(field.value.origin,
                fmt::format("{}.num_layers is missing: layers of the block at the start of "
                            "each stage, such as 4",
                            field.name));
  if (draft.uniform)
    recompute.uniform = std::max(1U, draft.layers);
  else
    recompute.block = draft.layers;
  return recompute;
}

}  // namespace

Recompute read_recompute(const Field& field) {
  if (field.value.kind == Value::Kind::map) return read_recompute_map(field);
  Recompute recompute;
  recompute.granularity = static_cast<Granularity>(read_choice(field, recompute_names));
  return recompute;
}

std::vector<KeyRow> recompute_keys() { return rows_of(recompute_table); }

std::string to_string(const Recompute& recompute) {
  std::string text(recompute_granularities[static_cast<std::size_t>(recompute.granularity)]);
  if (recompute.granularity == Granularity::selective && recompute.modules != Recompute{}.modules)
    text = fmt::format(
        "{}", fmt::join(base::selected_names(recompute_modules, recompute.modules), " and "));
  if (recompute.block > 0) text += fmt::format(" of {} layers a stage", recompute.block);
  if (recompute.uniform > 1) text += fmt::format(", {} layers together", recompute.uniform);
  if (recompute.every > 1) text += fmt::format(" of one layer in {}", recompute.every);
  return text;
}

}  // namespace pipewright::config
