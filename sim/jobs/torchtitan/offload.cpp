#include "sim/jobs/torchtitan/rules.hpp"

// FSDP's CPUOffloadPolicy, in which weights, gradients and optimizer state are in host memory
// (torchtitan, training.enable_cpu_offload).
namespace pipewright::jobs::torchtitan {

void read_cpu_offload(Draft& draft) {
  const Setting* const offload = draft.find("training.enable_cpu_offload");
  if (offload == nullptr) return;
  // Only FSDP has the policy: torchtitan ignores the key without sharded weights.
  if (!draft.on(offload->name) ||
      draft.count_at("parallel.shard", 2) * draft.count_at("parallel.cp", 1) < 2)
    return draft.without_effect(*offload, "torchtitan offloads only sharded weights");
  draft.set("training.optimizer.offload.fraction", "1", *offload);
  draft.set("training.optimizer.offload.gradients", "true", *offload);
  draft.set("training.optimizer.offload.weights", "true", *offload);
}

void write_cpu_offload(SettingsWriter& writer) {
  const auto& offload = writer.scenario().training.optimizer.offload;
  if (!offload) return;
  if (offload->fraction == 1 && offload->gradients && offload->weights)
    writer.add("training.enable_cpu_offload", "true");
  else
    writer.cannot("training.optimizer.offload",
                  "torchtitan moves all of weights, gradients and optimizer state to the host, or "
                  "none");
}

}  // namespace pipewright::jobs::torchtitan
