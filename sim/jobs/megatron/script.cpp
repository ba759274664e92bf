#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/launch_text.hpp"

namespace pipewright::jobs::megatron {

Launch write_script(const LaunchInput& input) {
  const config::Scenario& scenario = input.scenario;
  const Written written = write(scenario, input.plan, true);
  Unexpressed unexpressed_parts = unexpressed(input, written, Dialect::megatron);
  Launch launch{.extension = ".sh",
                .differs = std::move(unexpressed_parts.differs),
                .refused = std::move(unexpressed_parts.refused)};
  const LaunchNodes nodes = launch_nodes(scenario, input.plan);
  const bool is_hybrid = !scenario.model->value.pattern.empty();
  launch.text = "#!/bin/bash\n" + heading(input, launch) + environment_lines(input);
  // Megatron-LM needs this variable, so that collectives start before the matrix products beside
  // them.
  if (scenario.parallel.tp.value > 1 || scenario.parallel.cp.value > 1)
    launch.text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  // torchrun gives each process one thread of the CPU unless this variable says otherwise. So many
  // threads can use all bandwidth of host memory beside a GPU.
  constexpr std::uint32_t enough_threads = 16;
  if (const auto& offload = scenario.training.optimizer.offload)
    launch.text +=
        fmt::format("export OMP_NUM_THREADS={}\n", offload->threads.value_or(enough_threads));
  launch.text +=
      fmt::format("torchrun --nnodes {} --nproc_per_node {} ", nodes.nodes, nodes.processes);
  if (nodes.nodes > 1)
    launch.text +=
        "--node_rank ${NODE_RANK:-0} \\\n"
        "  --master_addr ${MASTER_ADDR:-localhost} --master_port ${MASTER_PORT:-6000} ";
  launch.text += fmt::format("pretrain_{}.py \\\n", is_hybrid ? "mamba" : "gpt");
  for (const Setting& setting : written.settings)
    launch.text += fmt::format("  {} \\\n", words_of(setting));
  launch.text += "  ";
  if (scenario.training.stack.name != local_stack)
    launch.text += "--transformer-impl transformer_engine ";
  launch.text +=
      "--tokenizer-type NullTokenizer --mock-data \\\n"
      "  --train-iters 20 --lr 1e-4 --log-interval 1 --log-throughput\n";
  return launch;
}

}  // namespace pipewright::jobs::megatron
