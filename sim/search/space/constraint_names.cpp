#include <array>

#include "sim/search/space/sweep.hpp"

namespace pipewright::search {
namespace {

constexpr std::array table{
    config::KeyInfo{.name = "tp, cp, ep, dp, pp", .help = "parallel sizes"},
    config::KeyInfo{.name = "gpus", .help = "tp * cp * pp * dp"},
    config::KeyInfo{.name = "sp", .help = "true or false"},
    config::KeyInfo{.name = "zero", .help = "0 to 3"},
    config::KeyInfo{.name = "microbatch_size, global_batch", .help = "samples"},
    config::KeyInfo{.name = "microbatches", .help = "of an iteration and replica"},
    config::KeyInfo{.name = "recompute", .help = "'none', 'selective' or 'full'"},
    config::KeyInfo{.name = "schedule", .help = "its name, such as '1f1b'"},
    config::KeyInfo{.name = "chunks", .help = "that the schedule is given, else 1"},
    config::KeyInfo{.name = "model", .help = "its name, such as 'gpt3-175b'"},
    config::KeyInfo{.name = "layers, hidden, heads, kv_heads", .help = "of the model"},
    config::KeyInfo{.name = "experts", .help = "of the model; 0: it is dense"},
    config::KeyInfo{.name = "sequence", .help = "tokens of a sample"},
    config::KeyInfo{.name = "cluster", .help = "its name, such as 'dgx-a100'"},
    config::KeyInfo{.name = "nodes, gpus_per_node", .help = "of the cluster"},
    config::KeyInfo{.name = "gpu", .help = "its type, such as 'a100-80gb'"},
    config::KeyInfo{.name = "memory_gib", .help = "of a GPU, in GiB"},
};

}  // namespace

std::vector<config::KeyInfo> constraint_names() { return {table.begin(), table.end()}; }

}  // namespace pipewright::search
