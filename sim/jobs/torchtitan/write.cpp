#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/text/torch_csv.hpp"
#include "sim/jobs/request/differences.hpp"
#include "sim/jobs/request/stage_layers.hpp"
#include "sim/jobs/request/toml.hpp"
#include "sim/jobs/shell/quote.hpp"
#include "sim/jobs/torchtitan/rules.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs::torchtitan {
namespace {

// Model that torchtitan has built in, with torchtitan's name and size ("flavour") for it.
struct Flavour {
  std::string_view model, name, flavour;
};
constexpr std::array flavours{
    Flavour{"llama-3-8b", "llama3", "8B"},          Flavour{"llama-3-70b", "llama3", "70B"},
    Flavour{"llama-3-405b", "llama3", "405B"},      Flavour{"deepseek-v3", "deepseek_v3", "671B"},
    Flavour{"moonlight-16b", "deepseek_v3", "16B"}, Flavour{"qwen3-30b-a3b", "qwen3", "30B-A3B"}};

// Number of layers by which the first and the last stage are shorter than the others.
std::uint64_t less_layers(const config::Scenario& scenario) {
  return scenario.partition.rule == config::Partition::Rule::ends_less ? 1 : 0;
}

// Lines of a TOML file, by the names of their sections.
using Sections = std::map<std::string, std::vector<std::string>>;

Sections sections_of(const std::vector<Setting>& settings) {
  Sections sections;
  for (const Setting& setting : settings) {
    const std::size_t dot = setting.name.rfind('.');
    sections[setting.name.substr(0, dot)].push_back(
        fmt::format("{} = {}", setting.name.substr(dot + 1), setting.values.front()));
  }
  return sections;
}

// True if the configuration refers to a file with the schedule, since PyTorch has no name for it.
bool needs_schedule_file(const SettingsWriter& writer) {
  return writer.has("parallelism.pipeline_parallel_schedule_csv");
}

void write_schedule_file(const LaunchInput& input, SettingsWriter& writer, Launch& launch) {
  const config::Scenario& scenario = input.scenario;
  if (input.plan.schedule == nullptr)
    return writer.cannot(
        "", fmt::format("schedule.csv: 'pipewright schedule show {} -s {} -b {} --format csv' "
                        "prints it",
                        shell_word(scenario.schedules.front().name), scenario.devices.value,
                        scenario.microbatches.value));
  try {
    launch.beside = schedules::to_torch_csv(*input.plan.schedule);
    launch.beside_name = "schedule.csv";
  } catch (const std::exception& refused) {
    writer.cannot("", refused.what());
  }
}

void write_checkpointing(SettingsWriter& writer) {
  const config::Scenario& scenario = writer.scenario();
  using Granularity = config::Recompute::Granularity;
  const config::Recompute& recompute = scenario.training.recompute;
  if (recompute.granularity == Granularity::none)
    return writer.add("activation_checkpoint.mode", toml_string("none"));
  if (recompute.granularity == Granularity::selective) {
    writer.cannot(
        "training.recompute",
        "torchtitan recomputes whole layers or operations; only Megatron-LM recomputes modules");
    return writer.add("activation_checkpoint.mode", toml_string("none"));
  }
  const bool is_op = recompute.granularity == Granularity::op;
  if (!is_op && recompute.early_stop) writer.add("activation_checkpoint.early_stop", "true");
  if (!is_op && recompute.every == 1)
    return writer.add("activation_checkpoint.mode", toml_string("full"));
  writer.add("activation_checkpoint.mode", toml_string("selective"));
  writer.add("activation_checkpoint.selective_ac_option",
             is_op ? toml_string("op") : toml_string(fmt::format("{}", recompute.every)));
}

// Compiles the model if the scenario's stack fuses small kernels, as torch.compile does.
void write_compile(SettingsWriter& writer) {
  const config::Training& training = writer.scenario().training;
  std::vector<std::string> components;
  if (training.stack.fuses(config::Fusable::norm)) components.push_back(toml_string("model"));
  if (training.fused_loss) components.push_back(toml_string("loss"));
  writer.add("compile.enable", components.empty() ? "false" : "true");
  if (!components.empty())
    writer.add("compile.components", fmt::format("[{}]", fmt::join(components, ", ")));
}

// Reads the settings as a job, and returns how it differs from the scenario.
std::vector<Difference> read_back(const LaunchInput& input, const SettingsWriter& writer) {
  const config::Scenario& scenario = writer.scenario();
  std::string text;
  for (const auto& [section, lines] : sections_of(writer.settings))
    text += fmt::format("[{}]\n{}\n", section, fmt::join(lines, "\n"));
  Request request{.name = "job",
                  .settings = settings_of({"job.toml", text}),
                  .gpus = scenario.parallel.ranks_of_stage() * scenario.devices.value,
                  .gpus_from = "the scenario"};
  // The file of the schedule does not exist yet, so that it cannot be read.
  std::erase_if(request.settings, [](const Setting& setting) {
    return setting.name == "parallelism.pipeline_parallel_schedule_csv";
  });
  Job job = read(std::move(request));
  // torchtitan's name of another model does not define its shape.
  if (std::erase(job.missing, "model") > 0)
    config::set_value(job.tree, "model", *config::find(scenario.tree, "model"));
  if (!job.missing.empty()) return {};
  std::vector<Difference> result = differences(input, std::move(job));
  if (needs_schedule_file(writer))
    std::erase_if(result, [](const Difference& difference) {
      return difference.key.starts_with("schedule.");
    });
  return result;
}

}  // namespace

void write_model(SettingsWriter& writer) {
  const config::Scenario& scenario = writer.scenario();
  const std::string& name = scenario.model->value.name;
  const auto it = std::ranges::find(flavours, std::string_view(name), &Flavour::model);
  const bool is_registered = it != flavours.end();
  if (!is_registered) writer.cannot("model", fmt::format("torchtitan registers no model {}", name));
  writer.add("model.name", toml_string(is_registered ? it->name : name));
  writer.add("model.flavor", toml_string(is_registered ? it->flavour : name));
}

namespace {

// Writes which stages of a pipeline FSDP gathers at a time, unless PyTorch's defaults do so.
void write_unshard_window(SettingsWriter& writer) {
  const config::Scenario& scenario = writer.scenario();
  const config::Parallel& parallel = scenario.parallel;
  if (!parallel.keeps_weights()) return;
  const config::Stack& stack = scenario.training.stack;
  const config::UnshardLookahead lookahead =
      parallel.unshard_lookahead.value_or(config::UnshardLookahead{});
  if (parallel.max_unsharded_stages == stack.max_unsharded_stages &&
      lookahead.rule == stack.unshard_lookahead && lookahead.by_device.empty())
    return;
  if (parallel.max_unsharded_stages)
    writer.add("parallelism.pp_max_unsharded_active_stages", *parallel.max_unsharded_stages);
  std::string value = toml_string(lookahead.rule == config::UnshardRule::full ? "full" : "auto");
  if (!lookahead.by_device.empty()) {
    value.clear();
    for (const auto& stages : lookahead.by_device)
      value += fmt::format("{}{}", value.empty() ? "" : ", ", stages.value);
    value = fmt::format("[{}]", value);
  }
  writer.add("parallelism.pp_num_unshard_lookahead_factor", value);
}

}  // namespace

void write_parallel(SettingsWriter& writer) {
  const config::Scenario& scenario = writer.scenario();
  const config::Parallel& parallel = scenario.parallel;
  const std::uint32_t shard = parallel.zero == 0 ? 1
                              : parallel.shard   ? parallel.shard->value
                                                 : parallel.dp.value;
  if (parallel.zero == 1 || parallel.zero == 2)
    writer.cannot("parallel.zero",
                  fmt::format("torchtitan shards by FSDP, zero 3; zero is {}", parallel.zero));
  writer.add("parallelism.data_parallel_replicate_degree", parallel.dp.value / std::max(shard, 1U));
  writer.add("parallelism.data_parallel_shard_degree", shard);
  if (parallel.reshard_after_forward)
    writer.add("parallelism.fsdp_reshard_after_forward",
               *parallel.reshard_after_forward ? toml_string("always") : toml_string("never"));
  write_unshard_window(writer);
  writer.add("parallelism.tensor_parallel_degree", parallel.tp.value);
  if (scenario.communication.tp_comm_overlap)
    writer.add("parallelism.enable_async_tensor_parallel", "true");
  writer.add("parallelism.context_parallel_degree", parallel.cp.value);
  if (parallel.cp.value > 1) {
    if (parallel.cp_comm == config::ContextComm::p2p)
      writer.add("parallelism.context_parallel_rotate_method", toml_string("alltoall"));
    else if (parallel.cp_comm == config::ContextComm::all_gather)
      writer.add("parallelism.context_parallel_rotate_method", toml_string("allgather"));
    else
      writer.cannot(
          "parallel.cp_comm_type",
          "torchtitan's context parallelism rotates keys and values, or gathers all of them");
  }
  if (parallel.cp.value > 1 && parallel.cp_balance != config::Parallel{}.cp_balance)
    writer.add("parallelism.context_parallel_load_balancer", toml_string("None"));
  writer.add("parallelism.expert_parallel_degree", parallel.ep.value);
  if (parallel.etp) writer.add("parallelism.expert_tensor_parallel_degree", parallel.etp->value);
  writer.add("parallelism.pipeline_parallel_degree", scenario.devices.value);
}

namespace {

// Number of stages into which the schedule divides the layers.
std::uint64_t stage_count(const config::Scenario& scenario) {
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const auto& choice = spec[&schedules::Parameters::chunks];
  const bool in_v = spec.name == "zb-v" || spec.name == "dualpipe-v";
  return std::uint64_t{scenario.devices.value} * (choice ? choice->value : in_v ? 2 : 1);
}

// Layers of each stage as torchtitan distributes them by its settings of layers per stage; empty if
// it would make another number of stages.
std::vector<std::uint32_t> default_layers(const config::Scenario& scenario) {
  const std::uint64_t stages = stage_count(scenario);
  const std::uint64_t total = scenario.model->value.layers + less_layers(scenario) * 2;
  const std::uint64_t per_stage = (total + stages - 1) / stages;
  if ((total + per_stage - 1) / per_stage != stages && stages != scenario.devices.value &&
      stages != std::uint64_t{2} * scenario.devices.value)
    return {};
  const config::Partition partition{.rule = less_layers(scenario) > 0
                                                ? config::Partition::Rule::ends_less
                                                : config::Partition::Rule::even};
  return stage_layers(partition, scenario.model->value.layers, stages);
}

// Lists the modules of each stage.
void write_modules(SettingsWriter& writer, const std::vector<std::uint32_t>& layers) {
  std::vector<std::string> parts;
  std::uint32_t next = 0;
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    std::vector<std::string> names;
    if (stage == 0) names.push_back(toml_string("tok_embeddings"));
    for (std::uint32_t i = 0; i < layers[stage]; ++i)
      names.push_back(toml_string(fmt::format("layers.{}", next++)));
    if (stage + 1 == layers.size())
      for (const char* const name : {"norm", "lm_head"}) names.push_back(toml_string(name));
    parts.push_back(fmt::format("[{}]", fmt::join(names, ", ")));
  }
  writer.add("parallelism.module_fqns_per_model_part",
             fmt::format("[\n  {}\n]", fmt::join(parts, ",\n  ")));
}

// Writes how the layers are divided: by the number of layers of a stage, or, if torchtitan would
// divide them in another way, as lists of modules.
void write_stages(SettingsWriter& writer) {
  const config::Scenario& scenario = writer.scenario();
  const std::uint64_t stages = stage_count(scenario);
  const std::uint64_t less = less_layers(scenario);
  const std::vector<std::uint32_t> layers = planned_stage_layers(scenario, writer.plan(), stages);
  if (layers.empty())
    writer.cannot("partition", fmt::format("torchtitan has no rule like partition {}; write the "
                                           "layers of the stages as a list, which 'pipewright "
                                           "layout' prints",
                                           config::to_string(scenario.partition)));
  else if (layers != default_layers(scenario))
    return write_modules(writer, layers);
  if (stages > 2 * std::uint64_t{scenario.devices.value})
    writer.add("parallelism.pipeline_parallel_layers_per_stage",
               (scenario.model->value.layers + 2 * less + stages - 1) / stages);
  writer.add("parallelism.pipeline_parallel_first_stage_less_layers", less);
  writer.add("parallelism.pipeline_parallel_last_stage_less_layers", less);
}

}  // namespace

void write_schedule(SettingsWriter& writer) {
  const config::Scenario& scenario = writer.scenario();
  if (scenario.devices.value == 1) return;
  const std::string torch = torch_schedule(scenario.schedules.front().name);
  if (!torch.empty())
    writer.add("parallelism.pipeline_parallel_schedule", toml_string(torch));
  else
    writer.add("parallelism.pipeline_parallel_schedule_csv", "\"schedule.csv\"");
  writer.add("parallelism.pipeline_parallel_microbatch_size", scenario.training.microbatch_size);
  write_stages(writer);
}

void write_training(SettingsWriter& writer) {
  const config::Scenario& scenario = writer.scenario();
  const config::Training& training = scenario.training;
  const std::uint64_t dp = scenario.parallel.dp.value;
  const std::uint64_t local =
      scenario.devices.value > 1
          ? std::uint64_t{scenario.microbatches.value} * training.microbatch_size
          : training.microbatch_size;
  writer.add("training.local_batch_size", local);
  writer.add("training.global_batch_size",
             std::uint64_t{scenario.microbatches.value} * dp * training.microbatch_size);
  writer.add("training.seq_len", training.sequence.value_or(scenario.model->value.sequence));
  if (training.loss_chunks > 1) writer.add("loss.num_chunks", training.loss_chunks);
  const config::ExpertTraining& experts = training.experts;
  if (scenario.model->value.experts && !experts.draws_loads() && experts.imbalance == 1)
    writer.add("debug.moe_force_load_balance", "true");
  write_checkpointing(writer);
  write_compile(writer);
  // torchtitan keeps weights, gradients and state of Adam all in fp32, or all in bf16.
  if (weight_bytes(training) == 2 && gradient_bytes(training) == 2 &&
      optimizer_bytes(training) == 4)
    writer.add("training.dtype", toml_string("bfloat16"));
  if (scenario.communication.gradient_bytes == 2 && scenario.parallel.zero == 3 && dp > 1)
    writer.add("training.mixed_precision_reduce", toml_string("bfloat16"));
  if (!training.stack.fuses(config::Fusable::optimizer))
    writer.add("optimizer.implementation", toml_string("foreach"));
}

Launch write(const LaunchInput& input) {
  const config::Scenario& scenario = input.scenario;
  Launch launch{.extension = ".toml"};
  SettingsWriter writer(scenario, input.plan, false);
  write_rules(flags(), writer);
  if (needs_schedule_file(writer)) write_schedule_file(input, writer, launch);
  std::vector<Difference> differences;
  try {
    differences = read_back(input, writer);
  } catch (const config::Error& refusal) {
    launch.refused = refusal.what();
  }
  launch.refused = refusal_of(input, launch.refused);
  launch.differs = stated_differences(std::move(writer.reasons), differences);
  launch.text = heading(input, launch);
  launch.text +=
      "# torchtitan reads such files up to v0.2.2; later versions have configurations in Python.\n";
  launch.text += fmt::format("# NGPU={} CONFIG_FILE=./this.toml ./run_train.sh\n",
                             scenario.parallel.ranks_of_stage() * scenario.devices.value);
  for (const auto& [section, lines] : sections_of(writer.settings))
    launch.text += fmt::format("\n[{}]\n{}\n", section, fmt::join(lines, "\n"));
  return launch;
}

}  // namespace pipewright::jobs::torchtitan
