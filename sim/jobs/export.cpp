#include "sim/jobs/export.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/write.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/differences.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs {
namespace {

// What reading the settings gives again, against what was wanted.
std::vector<std::string> differences_of(const config::Scenario& scenario,
                                        const megatron::Written& written,
                                        Framework framework = Framework::megatron) {
  std::vector<std::string> found = written.cannot;
  Request request{.framework = framework,
                  .name = scenario.model->value.name.empty() ? "job" : scenario.model->value.name,
                  .settings = written.settings,
                  .gpus = gpus_of(scenario),
                  .gpus_from = "the scenario"};
  for (Setting& one : request.settings) one.written = words_of(one);
  try {
    const Job job = megatron::read(request);
    for (const Note& note : job.not_understood) found.push_back(note.text);
    const config::Scenario again = config::read_scenario(job.tree);
    for (std::string& one : differences(scenario, again)) found.push_back(std::move(one));
  } catch (const config::Error& refused) {
    found.push_back(fmt::format("Megatron-LM would refuse it: {}", refused.what()));
  }
  return found;
}

// "llama3_70b" of llama-3-70b, as Megatron-Bridge calls its recipes.
std::string recipe_name(const std::string& model) {
  std::string name = model;
  std::ranges::replace(name, '-', '_');
  if (const std::size_t at = name.find("llama_3_"); at == 0) name = "llama3_" + name.substr(8);
  return name;
}

void drop_empty(std::vector<Setting>& settings) {
  std::erase_if(settings, [](const Setting& one) { return one.name.empty(); });
}

// Processes of nodes that are alike, or of one GPU each.
struct Nodes {
  std::uint64_t nodes = 1;
  std::uint64_t each = 1;
};
Nodes nodes_of(const config::Scenario& scenario, std::uint64_t gpus_per_node) {
  const std::uint64_t gpus = gpus_of(scenario);
  const std::uint64_t each = std::min(gpus, std::max<std::uint64_t>(gpus_per_node, 1));
  return gpus % each == 0 ? Nodes{gpus / each, each} : Nodes{gpus, 1};
}

Launch script(const config::Scenario& scenario, std::uint64_t gpus_per_node) {
  megatron::Written written = megatron::write(scenario, true);
  drop_empty(written.settings);
  Launch launch{.extension = ".sh", .differs = differences_of(scenario, written)};
  const Nodes nodes = nodes_of(scenario, gpus_per_node);
  const bool hybrid = !scenario.model->value.pattern.empty();
  launch.text = "#!/bin/bash\n" + heading(scenario, Framework::megatron, launch.differs);
  // Megatron-LM asks for it, so that collectives start before the products beside them.
  if (scenario.parallel.tp.value > 1 || scenario.parallel.cp.value > 1)
    launch.text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  launch.text += fmt::format("torchrun --nnodes {} --nproc_per_node {} ", nodes.nodes, nodes.each);
  if (nodes.nodes > 1)
    launch.text +=
        "--node_rank ${NODE_RANK:-0} \\\n"
        "  --master_addr ${MASTER_ADDR:-localhost} --master_port ${MASTER_PORT:-6000} ";
  launch.text += fmt::format("pretrain_{}.py \\\n", hybrid ? "mamba" : "gpt");
  for (const Setting& one : written.settings)
    launch.text += fmt::format("  {} \\\n", words_of(one));
  launch.text +=
      "  --transformer-impl transformer_engine --tokenizer-type NullTokenizer --mock-data \\\n"
      "  --train-iters 20 --lr 1e-4 --log-interval 1 --log-throughput\n";
  return launch;
}

Launch overrides(const config::Scenario& scenario, Framework framework,
                 std::uint64_t gpus_per_node) {
  megatron::Written written = megatron::write(scenario, false);
  drop_empty(written.settings);
  Launch launch{.extension = ".sh", .differs = differences_of(scenario, written, framework)};
  const Nodes nodes = nodes_of(scenario, gpus_per_node);
  const bool for_nemo = framework == Framework::nemo;
  launch.text = "#!/bin/bash\n" + heading(scenario, framework, launch.differs);
  if (for_nemo)
    launch.text +=
        fmt::format("python megatron_gpt_pretraining.py trainer.num_nodes={} trainer.devices={}",
                    nodes.nodes, nodes.each);
  else
    launch.text += fmt::format(
        "torchrun --nnodes {} --nproc_per_node {} run_recipe.py --recipe {}_pretrain_config",
        nodes.nodes, nodes.each, recipe_name(scenario.model->value.name));
  for (const std::string& one : nemo::overrides_of(written.settings, for_nemo))
    launch.text += fmt::format(" \\\n  {}", quoted(one));
  launch.text += "\n";
  return launch;
}

}  // namespace

Launch export_job(const config::Scenario& scenario, Framework framework,
                  const schedules::Schedule* planned, std::uint64_t gpus_per_node) {
  if (!scenario.model)
    throw config::Error(
        fmt::format("{} starts models, and the scenario has passes without one; give --model",
                    title_of(framework)));
  if (const auto& sizes = scenario.parallel.tp_by_device; !sizes.empty())
    throw config::Error(config::locate(
        sizes.front().origin,
        fmt::format("parallel.tp_by_device is {}, and {} starts jobs of one tp alone; allowed: "
                    "parallel.tp, or without --launch",
                    scenario.parallel.tp_text(), title_of(framework))));
  switch (framework) {
    case Framework::bridge:
    case Framework::nemo:
      return overrides(scenario, framework, gpus_per_node);
    case Framework::megatron:
      return script(scenario, gpus_per_node);
    case Framework::torchtitan:
      return torchtitan::write(scenario, planned);
    case Framework::deepspeed:
      return deepspeed::write(scenario, gpus_per_node);
    default:
      throw config::Error(
          fmt::format("what starts {} is not written; allowed: megatron, bridge, "
                      "nemo, torchtitan, deepspeed",
                      title_of(framework)));
  }
}

}  // namespace pipewright::jobs
