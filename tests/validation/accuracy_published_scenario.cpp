#include <fmt/format.h>

#include "sim/cluster/make/node_kind.hpp"
#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

// GPUs of each rack in runs of several racks of 72: powers of two fill them.
constexpr std::uint32_t used_of_rack = 64;

std::string schedule_of(const Cells& row) {
  if (count_of(row, "pp") == 1) return "1f1b";
  const std::uint32_t chunks = count_of(row, "vp");
  return chunks > 1 ? fmt::format("{{name: interleaved-1f1b, chunks: {}}}", chunks) : "1f1b";
}

// A platform file and, if its domains have more GPUs than a run uses of each, the placement.
struct Place {
  std::string cluster, placement = {};
};

Place place_of(const Cells& row, const Details& details) {
  if (!details.cluster.empty()) return {details.cluster};
  const std::string node = details.node.empty() ? node_of(row) : details.node;
  const std::uint32_t of_node = cluster::find_node_kind(node).gpus;
  const std::uint32_t gpus = count_of(row, "gpus");
  const bool has_racks = of_node > used_of_rack && gpus > of_node;
  const std::uint32_t used = has_racks ? used_of_rack : of_node;
  return {cluster_of(node, (gpus + used - 1) / used),
          has_racks ? fmt::format("placement: {{domain: {}}}\n", used_of_rack) : ""};
}

}  // namespace

std::string scenario_of(const Cells& row, const Details& details) {
  const std::string gpu = details.gpu.empty() ? gpu_of(row) : details.gpu;
  const std::string schedule = details.schedule.empty() ? schedule_of(row) : details.schedule;
  const Place place = place_of(row, details);
  std::string text =
      fmt::format("stack: {}\nmodel: {}\ncluster: {}\n", details.stack,
                  details.model.empty() ? model_of(row) : details.model, place.cluster);
  if (!gpu.empty()) text += fmt::format("gpu: {}\n", gpu);
  text += fmt::format("global_batch: {}\nparallel: {{tp: {}, cp: {}, pp: {}, sp: {}",
                      count_of(row, "global_batch"), count_of(row, "tp"), count_of(row, "cp"),
                      count_of(row, "pp"), details.sequence_parallel && count_of(row, "tp") > 1);
  if (count_of(row, "ep") > 1) {
    const std::uint32_t etp = count_of(row, "etp");
    text += fmt::format(", ep: {}, etp: {}", count_of(row, "ep"), etp);
  }
  text += fmt::format(", {}}}\nschedule: {}\nsymmetric: true\n",
                      details.parallel.empty() ? parallel_of(row) : details.parallel, schedule);
  text += fmt::format(
      "training: {{microbatch_size: {}, sequence: {}, precision: {}, recompute: {}{}}}\n",
      count_of(row, "micro_batch"), count_of(row, "sequence"), precision_of(row),
      details.recompute.empty() ? recompute_of(row) : details.recompute, details.training);
  if (!details.communication.empty())
    text += fmt::format("communication: {{{}}}\n", details.communication);
  return text + place.placement + details.more;
}

}  // namespace pipewright::accuracy
