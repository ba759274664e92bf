#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/model/model_report.hpp"
#include "sim/cli/options.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/route.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/config/vision_checks.hpp"
#include "sim/workload/compute/assumed.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/shape/layout_checks.hpp"

namespace pipewright::cli {
namespace {

constexpr std::array<std::string_view, 13> model_option_keys{"gpu",
                                                             "stack",
                                                             "cluster",
                                                             "training.microbatch_size",
                                                             "training.sequence",
                                                             "training.recompute",
                                                             "training.precision",
                                                             "training.cuda_graphs",
                                                             "parallel.tp",
                                                             "parallel.cp",
                                                             "parallel.ep",
                                                             "parallel.etp",
                                                             "parallel.sp"};

po::options_description model_options() {
  po::options_description options("options", 100);
  add_scenario_options(options, model_option_keys);
  options.add_options()("json", "print only JSON")("help,h", "print this help");
  return options;
}

int print_model_help() {
  fmt::print(
      "usage: pipewright model [NAME|FILE] [OPTIONS]\n\n"
      "Prints the size and the cost of a model: total and active parameters, FLOP per token, bytes "
      "of its\n"
      "parts; with a GPU, every kernel of a layer with its shape, time and bound on a software "
      "stack.\n"
      "Without a name, lists the models of the library.\n\n"
      "  pipewright model\n"
      "  pipewright model deepseek-v3\n"
      "  pipewright model llama-3-70b --gpu h100-sxm --tp 8 --sp --sequence 8192\n"
      "  pipewright model llama-3-70b --gpu b200 --tp 2 --precision fp8 --json\n"
      "  pipewright model Qwen3-8B/config.json\n"
      "  pipewright model mine.yaml -c scenario.yaml\n\n{}",
      describe(model_options()));
  return exit_ok;
}

void print_model_json(const analysis::Json& json) {
  fmt::print("{}", analysis::json_document(json));
}

int list_models(bool json) {
  std::vector<workload::ModelSize> models;
  for (const std::string& name : config::library_names("models", ".yaml")) {
    const config::Value value = config::make_text(name, {});
    models.push_back(workload::model_size(config::read_model({value, "model"})));
  }
  if (json)
    print_model_json(models_json(models));
  else
    fmt::print("{}", models_text(models));
  return exit_ok;
}

std::string model_layout_text(const config::Model& model, const config::Training& training,
                              const config::Parallel& parallel, const workload::Sizes& sizes) {
  std::string text;
  const auto add = [&](std::string_view name, std::uint32_t size) {
    if (size > 1) text += fmt::format("{} {}, ", name, size);
  };
  add("tp", parallel.tp.value);
  add("cp", parallel.cp.value);
  add("ep", parallel.ep.value);
  if (parallel.etp) add("etp", parallel.etp->value);
  if (sizes.sequence_parallel) text += "sp, ";
  text += fmt::format("a microbatch of {} x {:.0f} tokens, {}", training.microbatch_size,
                      sizes.sequence, to_string(precision_of(training)));
  if (training.vision) text += ", " + config::images_text(*training.vision);
  const std::string trained = config::trained_text(model, training);
  return trained.empty() ? text : fmt::format("{}, training {}", text, trained);
}

// Reads a section of the scenario by its key; a section that is left out has its defaults.
template <class Section, class Read>
Section read_section(const config::Value& root, const char* key, const Read& read) {
  const config::Value* const value = config::find(root, key);
  return value == nullptr ? Section{} : read(config::Field{*value, key});
}

// GPU that the scenario names, or the first GPU of its cluster, beside the first host of the
// cluster.
std::optional<config::Gpu> gpu_of(const config::Value& root) {
  std::optional<config::Gpu> gpu;
  if (const config::Value* const named = config::find(root, "gpu"))
    gpu = config::read_gpu({*named, "gpu"});
  const config::Value* const file = config::find(root, "cluster");
  if (file == nullptr) return gpu;
  const cluster::Cluster cluster =
      cluster::Cluster::load(config::library_or_path({*file, "cluster"}, "clusters", ".xml"));
  if (cluster.gpus().empty()) return gpu;
  const cluster::Host* const host = cluster.gpus().front();
  if (!gpu && cluster::gpu_of(host).empty()) return std::nullopt;
  if (!gpu) gpu = config::find_gpu(cluster::gpu_of(host));
  gpu->launch_factor = host->launch_factor;
  return gpu;
}

// Name of the attention kernel that the training's stack runs on the GPU.
std::string_view attention_name(const config::Training& training, const config::Gpu& gpu) {
  const config::DataType type =
      type_of(training.precision, training.module_types, config::PrecisionModule::attention);
  const config::AttentionKernel kernel =
      training.flash_attention ? config::attention_kernel_of(gpu, training.stack.attention, type)
                               : config::AttentionKernel::unfused;
  return base::name_of(config::attention_kernel_names, kernel);
}

}  // namespace

int model_command(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, model_options(), "name");
  if (options.count("help") != 0) return print_model_help();
  const bool json = options.count("json") != 0;
  const config::Value root = scenario_tree(options, [&](config::Value& tree) {
    if (const std::vector<std::string> names = values(options, "name"); !names.empty())
      config::set_key(tree, "model",
                      config::make_text(single(names, "model"), {.source = "the command line"}));
    // Expert parallelism spreads experts over data-parallel replicas, so dp is at least ep.
    const config::Value* const parallel = config::find(tree, "parallel");
    if (parallel == nullptr || config::find(*parallel, "dp") != nullptr) return;
    if (const config::Value* const ep = config::find(*parallel, "ep"))
      config::set_key(tree, "parallel.dp", config::Value(*ep));
  });
  const config::Value* const name = config::find(root, "model");
  if (name == nullptr) return list_models(json);

  config::Model model = config::read_model({*name, "model"});
  const config::Value with_stack = config::with_default_stack(root);
  const config::Value stack =
      config::named_stack_tree({*config::find(with_stack, "stack"), "stack"});
  const config::Value complete = config::with_stack_defaults(with_stack, stack);
  auto training = read_section<config::Training>(complete, "training", config::read_training);
  config::set_stack(training, complete, config::read_stack({stack, "stack"}));
  const auto parallel = read_section<config::Parallel>(root, "parallel", config::read_parallel);
  const auto modules = read_section<config::Modules>(root, "modules", config::read_modules);
  if (modules.vision) config::set_vision(*modules.vision, parallel, model, training);
  workload::check_parameters(model);
  workload::check_layout(model, training, parallel);
  config::check_recompute(root, model, training, model.layers);
  config::check_fine_tuning(root, model, training);
  config::check_cuda_graphs(root, model, training);
  config::check_module_types(root, model, training);
  config::check_loss_chunks(root, model, training);
  const workload::ModelSetting setting{model, training,
                                       workload::sizes_of(model, training, parallel)};
  if (const std::string note = idle_recompute_note(setting); !note.empty())
    fmt::print(stderr, "pipewright: {}\n", note);
  ModelReport report{
      .size = workload::model_size(model, training.sequence.value_or(model.sequence), training),
      .notes = config::notes_of(model, training),
      .layout = model_layout_text(model, training, parallel, setting.sizes),
      .precision = to_string(precision_of(training)),
      .stack = training.stack.name,
      .sizes = setting.sizes,
      .parts = workload::part_bytes(setting)};
  if (const std::optional<config::Gpu> gpu = gpu_of(root)) {
    config::check_precision(root, training, *gpu);
    report.gpu = gpu->name.empty() ? "the GPU" : gpu->name;
    report.attention = attention_name(training, *gpu);
    report.peak_flops = products_of(*gpu, training.precision).flops;
    report.times = workload::part_times(setting, *gpu);
    report.assumed = assumed_for(setting, *gpu);
    std::erase(report.assumed, "host_bandwidth");  // does not belong to a kernel
    report.assumed_gpu = gpu->name.empty() ? report.gpu : config::name_with_sources(*gpu);
    report.derived = derived_for(setting, *gpu);
  }
  if (json)
    print_model_json(model_json(report));
  else
    fmt::print("{}", model_text(report));
  return exit_ok;
}

}  // namespace pipewright::cli
