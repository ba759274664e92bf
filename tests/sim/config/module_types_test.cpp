#include "sim/config/module_types.hpp"

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/config/training.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

Precision precision(const std::string& text) {
  const Value value = read_yaml_text("precision: " + text, "t.yaml");
  return read_precision({*find(value, "precision"), "training.precision"});
}

DataType type_in(const std::string& text, PrecisionModule module) {
  const Precision read = precision(text);
  return type_of(read.recipe, read.modules, module);
}

Training training(const std::string& text) {
  const Value value = read_yaml_text(text, "t.yaml");
  return read_training({value, "training"});
}

}  // namespace

TEST_CASE("a recipe is a name or a map of modules", "[precision]") {
  CHECK(precision("mxfp8").recipe == DataType::mxfp8);
  CHECK(precision("mxfp8").modules == ModuleTypes{});
  const std::string text = "{default: mxfp8, attention: fp8, experts: nvfp4}";
  CHECK(type_in(text, PrecisionModule::mlp) == DataType::mxfp8);
  CHECK(type_in(text, PrecisionModule::attention) == DataType::fp8);
  CHECK(type_in(text, PrecisionModule::experts) == DataType::nvfp4);
  CHECK(precision("{experts: mxfp8}").recipe == DataType::bf16);
  const Precision ends =
      precision("{default: nvfp4, num_layers_at_start_in_bf16: 0, num_layers_at_end_in_bf16: 4}");
  CHECK(ends.modules.layers_at_start == 0);
  CHECK(ends.modules.layers_at_end == 4);
}

TEST_CASE("attention, router and head stay in 16 bits unless they have a type of their own",
          "[precision]") {
  for (const auto module :
       {PrecisionModule::attention, PrecisionModule::router, PrecisionModule::head}) {
    CHECK(type_in("mxfp8", module) == DataType::bf16);
    CHECK(type_in("fp32", module) == DataType::fp32);
  }
  CHECK(type_in("{default: mxfp8, head: mxfp8}", PrecisionModule::head) == DataType::mxfp8);
  CHECK(type_in("{default: mxfp8, router: fp32}", PrecisionModule::router) == DataType::fp32);
}

TEST_CASE("a recipe describes the modules that differ from it", "[precision]") {
  CHECK(to_string(precision("fp8-row")) == "fp8-row");
  CHECK(to_string(precision("{default: mxfp8, mlp: mxfp8, attention: bf16}")) == "mxfp8");
  CHECK(to_string(precision("{default: mxfp8, attention: fp8, experts: nvfp4, "
                            "num_layers_at_start_in_bf16: 1, num_layers_at_end_in_bf16: 4}")) ==
        "mxfp8, attention fp8, experts nvfp4, first layer bf16, last 4 layers bf16");
}

TEST_CASE("types that no program mixes are refused", "[precision]") {
  const auto fault = [](const std::string& text) { return error_of([&] { precision(text); }); };
  CHECK_THAT(fault("{default: fp8, attention: nvfp4}"),
             Catch::Contains("training.precision.attention is the text 'nvfp4'; allowed: one of "
                             "bf16, fp8, mxfp8"));
  CHECK_THAT(fault("{default: fp8, router: fp8}"), Catch::Contains("one of bf16, tf32, fp32"));
  CHECK_THAT(fault("{default: tf32, experts: fp8}"),
             Catch::Contains("training.precision.experts is the text 'fp8'; allowed: tf32 alone, "
                             "since the recipe tf32 keeps all tensors in 32 bits"));
  CHECK_THAT(fault("{default: mxfp8, mlp: fp32}"),
             Catch::Contains("allowed: a type of 8 or 4 bits, or bf16, which other tensors have"));
  CHECK_THAT(fault("{default: fp16, mlp: bf16}"),
             Catch::Contains("allowed: a type of 8 or 4 bits, or fp16"));
  CHECK_THAT(fault("{defaults: fp8}"), Catch::Contains("default"));
}

TEST_CASE("setting the type of a module keeps the recipe as the default", "[precision]") {
  const Origin origin{.source = "--set"};
  Value root = read_yaml_text("training: {precision: mxfp8}", "t.yaml");
  override_key(root, "training.precision.attention", "fp8", origin);
  CHECK(value_at(root, "training.precision.default")->text == "mxfp8");
  CHECK(value_at(root, "training.precision.attention")->text == "fp8");
  Value list = read_yaml_text("training: {precision: [fp8, mxfp8]}", "t.yaml");
  override_key(list, "training.precision", "nvfp4", origin);
  CHECK(value_at(list, "training.precision")->text == "nvfp4");
  Value empty = read_yaml_text("training: {}", "t.yaml");
  override_key(empty, "training.precision.experts", "mxfp8", origin);
  CHECK(read_training({*find(empty, "training"), "training"}).precision == DataType::bf16);
}

TEST_CASE("the bytes of a weight follow from the type of its products", "[precision]") {
  const Training plain = training("{precision: {default: mxfp8, experts: nvfp4}}");
  CHECK(weight_bytes(plain, DataType::bf16) == 2);
  CHECK(weight_bytes(plain, DataType::nvfp4) == 2 + 2 * (0.5 + 1.0 / 16));
  CHECK(gathered_bytes(plain, DataType::nvfp4) == 2);
  // Rows are scaled anew for each product, so that no copies are stored.
  CHECK(weight_bytes(training("{precision: fp8-row}")) == 2);
  const Training only =
      training("{precision: {default: mxfp8, mlp: bf16}, fp8_param_gather: true}");
  CHECK(gathered_bytes(only) == 1 + 1.0 / 32);
  CHECK(gathered_bytes(only, DataType::bf16) == 2);
  CHECK(weight_bytes(only) == 2 * (1 + 1.0 / 32));
}

}  // namespace pipewright::config::test
