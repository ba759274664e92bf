#include "validation/accuracy_layout.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/cluster/make/node_kind.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// Runs of more than a rack of 72 take 64 of each, which powers of two fill.
constexpr std::uint32_t used_of_rack = 64;

// The first of each pair is what is published.
using Names = std::vector<std::pair<std::string, std::string>>;

std::string second_of(const Names& names, const std::string& published) {
  const auto found = std::ranges::find(names, published, &Names::value_type::first);
  return found == names.end() ? "" : found->second;
}

}  // namespace

std::string recipe_of(const std::string& published) {
  return second_of({{"BF16", "bf16"},
                    {"FP8", "fp8"},
                    {"FP8-CS", "fp8"},
                    {"MXFP8", "mxfp8"},
                    {"FP8-MX", "mxfp8"},
                    {"NVFP4", "nvfp4"}},
                   published);
}

std::string node_named(const std::string& published) {
  return second_of({{"DGX-H100", "dgx-h100"},
                    {"DGX-B200", "dgx-b200"},
                    {"DGX-B300", "dgx-b300"},
                    {"DGX-GB200", "gb200-nvl72"},
                    {"DGX-GB300", "gb300-nvl72"}},
                   published);
}

std::string scenario_of(const Layout& layout) {
  const std::uint32_t gpus = layout.gpus();
  const std::uint32_t of_node = cluster::find_node_kind(layout.node).gpus;
  const bool racks = of_node > used_of_rack && gpus > of_node;
  const std::uint32_t used = racks ? used_of_rack : of_node;
  std::string text = fmt::format(
      "model: {}\n"
      "cluster: {}\n"
      "global_batch: {}\n"
      "parallel: {{tp: {}, cp: {}, pp: {}, sp: {}, {}{}}}\n"
      "schedule: {}\n"
      "partition: {}\n"
      "symmetric: true\n",
      layout.model, cluster_of(layout.node, (gpus + used - 1) / used),
      layout.dp * layout.microbatch * layout.microbatches, layout.tp, layout.cp, layout.pp,
      layout.tp > 1 && layout.sequence_parallel,
      layout.fsdp ? fmt::format("shard: {}", layout.dp)
                  : fmt::format("dp: {}, zero: {}", layout.dp, layout.zero),
      layout.ep > 0 ? fmt::format(", ep: {}, etp: {}", layout.ep, layout.etp) : "",
      layout.chunks > 1 ? fmt::format("{{name: interleaved-1f1b, chunks: {}}}", layout.chunks)
                        : "1f1b",
      layout.partition);
  if (!layout.stack.empty()) text += fmt::format("stack: {}\n", layout.stack);
  if (racks) text += fmt::format("placement: {{domain: {}}}\n", used_of_rack);
  // Megatron-LM overlaps its transfers only where stages are interleaved.
  if (layout.pp > 1 && layout.chunks == 1) text += "p2p: blocking\n";
  text += fmt::format("training: {{microbatch_size: {}{}{}}}\n", layout.microbatch,
                      layout.sequence > 0 ? fmt::format(", sequence: {}", layout.sequence) : "",
                      layout.training);
  if (!layout.communication.empty())
    text += fmt::format("communication: {{{}}}\n", layout.communication);
  if (!layout.modules.empty()) text += fmt::format("modules: {{{}}}\n", layout.modules);
  return text;
}

}  // namespace pipewright::accuracy
