#include "sim/config/training_checks.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::config {
namespace {

void check_layer_count(const Value& root, std::string_view key, std::uint32_t count,
                       std::uint32_t limit) {
  if (count > limit)
    throw Error(origin_of(root, key),
                fmt::format("{} is {}, and a stage has no more than {} layers", key, count, limit))
        .allow(fmt::format("1 to {}, or without the key for all of them", limit));
}

}  // namespace

std::vector<std::string> notes_of(const Model& model, const Training& training) {
  std::vector<std::string> notes = model.notes;
  if (training.sequence)
    std::erase_if(notes, [](const std::string& note) { return note.starts_with("sequence:"); });
  return notes;
}

bool has_module(const Model& model, RecomputeModule module) {
  switch (module) {
    case RecomputeModule::core_attn:
    case RecomputeModule::layernorm:
      return true;
    case RecomputeModule::mlp:
      if (!model.pattern.empty()) return model.has_layers(layer_symbols::mlp);
      return !model.experts || model.experts->first_dense > 0 || model.experts->every > 1;
    case RecomputeModule::moe:
    case RecomputeModule::moe_act:
      return model.experts.has_value();
    case RecomputeModule::shared_experts:
      return model.experts && model.experts->shared > 0;
    case RecomputeModule::mla_up_proj:
      return model.latent.has_value();
  }
  return false;
}

void check_recompute(const Value& root, const Model& model, const Training& training,
                     std::uint32_t stage_layers) {
  constexpr std::string_view key = "training.recompute.modules";
  const Recompute& recompute = training.recompute;
  std::vector<std::string_view> known;
  std::vector<std::string_view> unknown;
  for (std::size_t i = 0; i < recompute_modules.size(); ++i) {
    const auto module = static_cast<RecomputeModule>(i);
    if (has_module(model, module))
      known.push_back(recompute_modules[i]);
    else if (recompute.granularity == Recompute::Granularity::selective && recompute.has(module))
      unknown.push_back(recompute_modules[i]);
  }
  if (!unknown.empty())
    throw Error(origin_of(root, key),
                fmt::format("{} has {}, which the layers of the model do not have", key,
                            fmt::join(unknown, " and ")))
        .allow(fmt::format("{}", fmt::join(known, ", ")));
  check_layer_count(root, "training.recompute.num_layers", recompute.block, stage_layers);
  if (training.offload && training.offload->layers)
    check_layer_count(root, "training.offload.num_layers", *training.offload->layers, stage_layers);
}

void check_precision(const Value& root, const Training& training, const Gpu& gpu) {
  if (has_type(gpu, training.precision)) return;
  try {
    products_of(gpu, training.precision);
  } catch (const Error& error) {
    throw Error(
        origin_of(root, "training.precision"),
        fmt::format("training.precision is {}, but {}", name_of(training.precision), error.found()),
        "training.precision")
        .allow(error.allowed());
  }
}

}  // namespace pipewright::config
