#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/model/model_report.hpp"
#include "sim/cli/options.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/route.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/workload/compute/assumed.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/shape/layout_checks.hpp"

namespace pipewright::cli {
namespace {

constexpr std::array<std::string_view, 12> keys{"gpu",
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
  add_scenario_options(options, keys);
  options.add_options()("json", "print JSON and nothing else")("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright model [NAME|FILE] [OPTIONS]\n\n"
      "Prints what a model is and costs: parameters in total and active for a token, FLOP a "
      "token,\n"
      "bytes of its parts; on a GPU, every kernel of a layer with its shape, its time and what\n"
      "bounds it. Without a name, lists the models of the library.\n\n"
      "  pipewright model\n"
      "  pipewright model deepseek-v3\n"
      "  pipewright model llama-3-70b --gpu h100-sxm --tp 8 --sp --sequence 8192\n"
      "  pipewright model llama-3-70b --gpu b200 --tp 2 --precision fp8 --json\n"
      "  pipewright model Qwen3-8B/config.json\n"
      "  pipewright model mine.yaml -c scenario.yaml\n\n{}",
      describe(model_options()));
  return exit_ok;
}

void print(const analysis::Json& json) { fmt::print("{}", analysis::json_document(json)); }

int list_models(bool json) {
  std::vector<ModelSize> models;
  for (const std::string& name : config::library_names("models", ".yaml")) {
    const config::Value value = config::make_text(name, {});
    models.push_back(size_of(config::read_model({value, "model"})));
  }
  if (json)
    print(models_json(models));
  else
    fmt::print("{}", models_text(models));
  return exit_ok;
}

std::string layout_text(const config::Training& training, const config::Parallel& parallel,
                        const workload::Sizes& sizes) {
  std::string text;
  const auto add = [&](std::string_view name, std::uint32_t size) {
    if (size > 1) text += fmt::format("{} {}, ", name, size);
  };
  add("tp", parallel.tp.value);
  add("cp", parallel.cp.value);
  add("ep", parallel.ep.value);
  if (parallel.etp) add("etp", parallel.etp->value);
  if (sizes.sequence_parallel) text += "sp, ";
  return text + fmt::format("a microbatch of {} x {:.0f} tokens, {}", training.microbatch_size,
                            sizes.sequence, config::name_of(training.precision));
}

// One section of the scenario, by its key; what it says by default where it is left out.
template <class Section, class Read>
Section section(const config::Value& root, const char* key, const Read& read) {
  const config::Value* const value = config::find(root, key);
  return value == nullptr ? Section{} : read(config::Field{*value, key});
}

// The one that is named, or the cluster's first.
std::optional<config::Gpu> gpu_of(const config::Value& root) {
  if (const config::Value* const named = config::find(root, "gpu"))
    return config::read_gpu({*named, "gpu"});
  const config::Value* const file = config::find(root, "cluster");
  if (file == nullptr) return std::nullopt;
  const cluster::Cluster cluster =
      cluster::Cluster::load(config::library_or_path({*file, "cluster"}, "clusters", ".xml"));
  const std::string type = cluster.gpus().empty() ? "" : cluster::gpu_of(cluster.gpus().front());
  if (type.empty()) return std::nullopt;
  return config::find_gpu(type);
}

}  // namespace

int model_command(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, model_options(), "name");
  if (given.count("help") != 0) return print_help();
  const bool json = given.count("json") != 0;
  const config::Value root = scenario_tree(given, [&](config::Value& tree) {
    if (const std::vector<std::string> names = values(given, "name"); !names.empty())
      config::set_key(tree, "model",
                      config::make_text(single(names, "model"), {.source = "the command line"}));
    // Experts are spread over replicas, of which there are then as many.
    const config::Value* const parallel = config::find(tree, "parallel");
    if (parallel == nullptr || config::find(*parallel, "dp") != nullptr) return;
    if (const config::Value* const ep = config::find(*parallel, "ep"))
      config::set_key(tree, "parallel.dp", config::Value(*ep));
  });
  const config::Value* const name = config::find(root, "model");
  if (name == nullptr) return list_models(json);

  const config::Model model = config::read_model({*name, "model"});
  const auto training = section<config::Training>(root, "training", config::read_training);
  const auto parallel = section<config::Parallel>(root, "parallel", config::read_parallel);
  workload::check_parameters(model);
  workload::check_layout(model, training, parallel);
  config::check_recompute(root, model, training, model.layers);
  const workload::ModelSetting setting{model, training,
                                       workload::sizes_of(model, training, parallel)};
  if (const std::string note = idle_recompute_note(setting); !note.empty())
    fmt::print(stderr, "pipewright: {}\n", note);
  ModelReport report{.size = size_of(model, training.sequence.value_or(model.sequence)),
                     .notes = config::notes_of(model, training),
                     .layout = layout_text(training, parallel, setting.sizes),
                     .precision = std::string(config::name_of(training.precision)),
                     .sizes = setting.sizes,
                     .parts = part_bytes(setting)};
  if (const std::optional<config::Gpu> gpu = gpu_of(root)) {
    config::check_precision(root, training, *gpu);
    report.gpu = gpu->name.empty() ? "the GPU" : gpu->name;
    report.peak_flops = products_of(*gpu, training.precision).flops;
    report.times = part_times(setting, *gpu);
    report.assumed = assumed_for(setting, *gpu);
    for (const char* const key : {"pass_overhead", "host_bandwidth"})  // not of a kernel
      std::erase(report.assumed, key);
  }
  if (json)
    print(model_json(report));
  else
    fmt::print("{}", model_text(report));
  return exit_ok;
}

}  // namespace pipewright::cli
