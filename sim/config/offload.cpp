#include "sim/config/offload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

double read_host_bandwidth(const Field& field) {
  return parse_bandwidth(read_text(field, "a bandwidth such as 55 GB/s"), subject(field),
                         "a bandwidth");
}

std::bitset<offload_modules.size()> read_offload_modules(const Field& field) {
  std::bitset<offload_modules.size()> modules;
  for (const Field& item : items(field, "a list of modules, such as [core_attn, attn_proj]"))
    modules.set(read_choice(item, offload_modules));
  return modules;
}

constexpr std::array offload_table{
    Key<Offload>{{.name = "num_layers",
                  .alias = "cpu_offloading_num_layers",
                  .help = "number of layers to offload, at the start of each stage",
                  .default_value = "all"},
                 count<&Offload::layers, "4">},
    Key<Offload>{{.name = "share",
                  .help = "fraction of these layers' activations to offload",
                  .default_value = "1"},
                 part<&Offload::share, "a part of the activations">},
    Key<Offload>{{.name = "bandwidth",
                  .help = "bandwidth between a GPU and its host, each way",
                  .default_value = "gpu.host_bandwidth"},
                 into<&Offload::bandwidth, read_host_bandwidth>({ValueType::rate})},
    Key<Offload>{{.name = "modules",
                  .help = "modules whose inputs alone are offloaded; default: all activations"},
                 into<&Offload::modules, read_offload_modules>(
                     {ValueType::choice, true, offload_modules, nullptr})},
};

constexpr std::array optimizer_offload_table{
    Key<OptimizerOffload>{{.name = "fraction",
                           .help = "fraction of the parameters whose optimizer state is in host "
                                   "memory, and which the CPU updates",
                           .default_value = "1"},
                          part<&OptimizerOffload::fraction, "a part of the parameters">},
    Key<OptimizerOffload>{{.name = "overlap",
                           .help = "the CPU updates a tensor while other tensors are copied",
                           .default_value = "false"},
                          flag<&OptimizerOffload::overlap>},
    Key<OptimizerOffload>{
        {.name = "gradients",
         .help = "gradients accumulate in host memory, as in ZeRO-Offload and FSDP",
         .default_value = "false"},
        flag<&OptimizerOffload::gradients>},
    Key<OptimizerOffload>{{.name = "weights",
                           .help = "shards of weights are in host memory, as in ZeRO-Infinity and "
                                   "FSDP; needs parallel.zero 3",
                           .default_value = "false"},
                          flag<&OptimizerOffload::weights>},
    Key<OptimizerOffload>{{.name = "threads",
                           .help = "threads of the CPU that make the step of a GPU; default: as "
                                   "many as its share of host memory can feed"},
                          count<&OptimizerOffload::threads, "14">},
    Key<OptimizerOffload>{
        {.name = "bandwidth",
         .help = "bandwidth between a GPU and its host, each way",
         .default_value = "gpu.host_bandwidth"},
        into<&OptimizerOffload::bandwidth, read_host_bandwidth>({ValueType::rate})},
    Key<OptimizerOffload>{
        {.name = "memory_bandwidth",
         .help = "bandwidth of host memory for each GPU",
         .default_value = "host_memory_bandwidth of the cluster"},
        into<&OptimizerOffload::memory_bandwidth, read_host_bandwidth>({ValueType::rate})},
};

std::string percent_of(double share, std::string_view whole) {
  return share < 1 ? fmt::format("{:.4g} % of {}", 100 * share, whole) : std::string(whole);
}

}  // namespace

Offload read_offload(const Field& field) {
  Offload offload = read_map<offload_table>(field);
  // The projection's input is the output of attention, which attention needs, too.
  if (offload.has(OffloadModule::attn_proj) && !offload.has(OffloadModule::core_attn))
    throw wrong({*find(field.value, "modules"), field.name + ".modules"},
                "attn_proj only together with core_attn, whose output is the input of attn_proj");
  return offload;
}

OptimizerOffload read_optimizer_offload(const Field& field) {
  return read_map<optimizer_offload_table>(field);
}

std::vector<KeyRow> offload_keys() { return rows_of(offload_table); }
std::vector<KeyRow> optimizer_offload_keys() { return rows_of(optimizer_offload_table); }

std::string to_string(const Offload& offload) {
  std::string whole =
      offload.layers ? fmt::format("{} layers a stage", *offload.layers) : "all layers";
  if (offload.modules.any())
    whole = fmt::format("{} of {}",
                        fmt::join(base::selected_names(offload_modules, offload.modules), " and "),
                        whole);
  return percent_of(offload.share, whole);
}

std::string to_string(const OptimizerOffload& offload) {
  std::string whole = "the optimizer";
  if (offload.gradients) whole += offload.weights ? ", gradients" : " and gradients";
  if (offload.weights) whole += " and weights";
  return percent_of(offload.fraction, whole);
}

}  // namespace pipewright::config
