#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/toml.hpp"
#include "sim/jobs/request/torchao.hpp"
#include "sim/jobs/torchtitan/rules.hpp"

// Converters of torchao, which give products of linear modules and grouped products of experts a
// type of 8 bits (torchtitan/components/quantization).
namespace pipewright::jobs::torchtitan {
namespace {

using config::PrecisionModule;

constexpr std::string_view precision_key = "training.precision";

constexpr std::array linear_modules{
    LinearNames{PrecisionModule::qkv, {"attention.wq", "attention.wk", "attention.wv"}},
    LinearNames{PrecisionModule::proj, {"attention.wo"}},
    LinearNames{PrecisionModule::mlp, {"feed_forward.w1", "feed_forward.w2", "feed_forward.w3"}},
    LinearNames{PrecisionModule::shared_experts,
                {"moe.shared_experts.w1", "moe.shared_experts.w2", "moe.shared_experts.w3"}},
    LinearNames{PrecisionModule::head, {"output"}},
};
constexpr LinearNames latent_attention{
    PrecisionModule::qkv,
    {"attention.wq_a", "attention.wq_b", "attention.wkv_a", "attention.wkv_b"}};

std::string_view name_of(PrecisionModule module) {
  return config::precision_modules[static_cast<std::size_t>(module)];
}

const Setting* first_of(Draft& draft, std::initializer_list<std::string_view> names) {
  const Setting* first = nullptr;
  for (const std::string_view name : names)
    if (const Setting* const setting = draft.find(name); first == nullptr) first = setting;
  return first;
}

// Recipes by the kind of products that a job's converters convert; empty: not converted.
struct Converted {
  std::string linear;
  std::string grouped;
};

Converted read_converters(Draft& draft, const Setting& converters) {
  Converted converted;
  for (const std::string& converter : converters.values) {
    if (converter.find("lora") != std::string::npos) continue;
    const bool is_float8 = converter.find("float8") != std::string::npos;
    const bool is_mx = converter.find("mx") == 0 || converter.find(".mx") != std::string::npos;
    // torchao scales the rows of grouped products (torchao/prototype/moe_training).
    if (converter.find("grouped_mm") != std::string::npos)
      converted.grouped = is_float8 ? "fp8-row" : "mxfp8";
    else if (is_float8)
      converted.linear = float8_recipe(
          draft, first_of(draft, {"quantize.linear.float8.recipe_name", "float8.recipe_name"}));
    else if (is_mx)
      converted.linear = "mxfp8";
    else
      draft.not_understood(converters, fmt::format("the converter {} is not read", converter));
  }
  return converted;
}

std::vector<LinearNames> names_of(bool is_latent, bool has_experts) {
  std::vector<LinearNames> names;
  for (const LinearNames& linear : linear_modules) {
    if (linear.module == PrecisionModule::shared_experts && !has_experts) continue;
    const bool is_other = linear.module == PrecisionModule::qkv && is_latent;
    names.push_back(is_other ? latent_attention : linear);
  }
  return names;
}

}  // namespace

void read_quantization(Draft& draft) {
  const Setting* const converters = draft.find("model.converters");
  if (converters == nullptr) return;
  const auto [linear, grouped] = read_converters(draft, *converters);
  if (linear.empty() && grouped.empty()) return;
  draft.set(precision_key, linear.empty() ? "bf16" : linear, *converters);
  const bool has_experts = draft.model_has("experts");
  if (has_experts && grouped != linear)
    draft.set("training.precision.experts", grouped.empty() ? "bf16" : grouped, *converters);
  if (!linear.empty()) {
    const Setting* const filter =
        first_of(draft, {"quantize.linear.float8.filter_fqns", "float8.filter_fqns",
                         "quantize.linear.mx.filter_fqns", "mx.filter_fqns"});
    if (filter != nullptr)
      read_filter(draft, *filter, names_of(draft.model_has("latent"), has_experts), linear);
    else
      draft.assume(
          "the output layer stays in bf16, as in torchtitan's own configurations, which filter it");
  }
  for (const char* const name : {"quantize.linear.float8.enable_fsdp_float8_all_gather",
                                 "float8.enable_fsdp_float8_all_gather"})
    if (const Setting* const gather = draft.find(name); gather != nullptr && draft.on(name)) {
      if (linear == "fp8")
        draft.set("training.bytes.gathered", "1", *gather);
      else
        draft.without_effect(*gather, "weights are gathered in 16 bits without tensorwise scales");
    }
}

void write_quantization(SettingsWriter& writer) {
  using config::DataType;
  const config::Scenario& scenario = writer.scenario();
  const config::Training& training = scenario.training;
  const auto type_of_module = [&](PrecisionModule module) {
    return type_of(training.precision, training.module_types, module);
  };
  const DataType linear = training.precision;
  const bool is_float8 = linear == DataType::fp8 || linear == DataType::fp8_row;
  std::vector<std::string> converters;
  if (is_float8)
    converters.push_back(toml_string("quantize.linear.float8"));
  else if (linear == DataType::mxfp8)
    converters.push_back(toml_string("quantize.linear.mx"));
  else if (linear != DataType::bf16)
    writer.cannot(precision_key,
                  fmt::format("torchtitan has no recipe {}", config::name_of(linear)));
  if (scenario.model->value.experts) {
    const DataType grouped = type_of_module(PrecisionModule::experts);
    if (grouped == DataType::fp8_row)
      converters.push_back(toml_string("quantize.grouped_mm.float8"));
    else if (grouped == DataType::mxfp8)
      converters.push_back(toml_string("quantize.grouped_mm.mx"));
    else if (grouped != DataType::bf16)
      writer.cannot(precision_key, fmt::format("torchtitan has no grouped products in {}",
                                               config::name_of(grouped)));
  }
  if (converters.empty()) return;
  writer.add("model.converters", fmt::format("[{}]", fmt::join(converters, ", ")));
  if (linear == DataType::fp8_row)
    writer.add("quantize.linear.float8.recipe_name", toml_string("rowwise"));
  if (linear == DataType::fp8 && gathered_bytes(training) == 1)
    writer.add("quantize.linear.float8.enable_fsdp_float8_all_gather", "true");
  std::vector<std::string> filter;
  bool is_default = true;
  const config::Model& model = scenario.model->value;
  for (const LinearNames& names : names_of(model.latent.has_value(), model.experts.has_value())) {
    const DataType type = type_of_module(names.module);
    is_default = is_default && type == type_of(linear, {}, names.module);
    if (type == DataType::bf16)
      for (const std::string_view name : names.names)
        if (!name.empty()) filter.push_back(toml_string(name));
    if (type != DataType::bf16 && type != linear)
      writer.cannot(precision_key,
                    fmt::format("torchtitan has one recipe for all linear modules, and {} is {}",
                                name_of(names.module), config::name_of(type)));
  }
  if (!is_default && linear != DataType::bf16)
    writer.add(is_float8 ? "quantize.linear.float8.filter_fqns" : "quantize.linear.mx.filter_fqns",
               fmt::format("[{}]", fmt::join(filter, ", ")));
}

}  // namespace pipewright::jobs::torchtitan
