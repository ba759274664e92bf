#include "sim/config/communication.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 7> algorithms{"automatic", "ring", "tree", "hierarchical",
                                                     "direct",    "nvls", "sharp"};
constexpr std::array<std::string_view, 2> details{"fast", "full"};

std::uint64_t read_bucket(const Field& field) {
  const std::uint64_t bytes = read_size(field, "the size of a bucket");
  if (bytes == 0) throw wrong(field, "a size of more than 0 bytes, such as 160 MB");
  return bytes;
}

std::uint32_t read_gradient_bytes(const Field& field) {
  constexpr std::array<std::string_view, 3> sizes{"1", "2", "4"};
  return 1U << static_cast<std::uint32_t>(read_choice(field, sizes));
}

double read_slowdown(const Field& field) {
  const double factor = read_positive_number(field, "a slow-down");
  if (factor < 1 || factor > 1e6) throw wrong(field, "1 (none) to 1e6, such as 1.1");
  return factor;
}

template <bool Communication::*Switch>
void read_into(const Field& field, Communication& communication) {
  communication.*Switch = read_flag(field);
}

constexpr std::array table{
    Key<Communication>{
        {.name = "overlap_p2p",
         .help = "passes go on while boundary tensors are on their way: true or false (true)"},
        read_into<&Communication::overlap_p2p>},
    Key<Communication>{
        {.name = "overlap_grad_reduce",
         .help = "reduce gradients by buckets, beside backward passes: true or false (true)"},
        read_into<&Communication::overlap_grad_reduce>},
    Key<Communication>{
        {.name = "overlap_param_gather",
         .help = "ZeRO-1, 2: gather weights by buckets, beside the first forward passes (true)"},
        read_into<&Communication::overlap_param_gather>},
    Key<Communication>{
        {.name = "tp_comm_overlap",
         .help = "with sp: run tp's collectives beside the products that they feed (false)"},
        read_into<&Communication::tp_comm_overlap>},
    Key<Communication>{
        {.name = "async_tensor_model_parallel_allreduce",
         .help = "backward, run them beside the product of the other gradient: true or false "
                 "(true)"},
        read_into<&Communication::async_tensor_model_parallel_allreduce>},
    Key<Communication>{
        {.name = "scatter_gather",
         .alias = "scatter_gather_tensors_in_pipeline",
         .help = "each GPU of tp sends a part of a boundary tensor, not all of it (true)"},
        read_into<&Communication::scatter_gather>},
    Key<Communication>{
        {.name = "bucket",
         .help = "bytes of gradients that are reduced at once (40 M parameters, or 1 M a copy)"},
        [](const Field& f, Communication& c) { c.bucket = read_bucket(f); }},
    Key<Communication>{
        {.name = "gradient_bytes", .help = "of an element when it is reduced: 1, 2 or 4 (4)"},
        [](const Field& f, Communication& c) { c.gradient_bytes = read_gradient_bytes(f); }},
    Key<Communication>{
        {.name = "all_reduce",
         .alias = "algorithm",
         .help = "of all collectives that know it: automatic (as NCCL), ring, tree, hierarchical, "
                 "direct, nvls or sharp"},
        [](const Field& f, Communication& c) {
          c.all_reduce = static_cast<Algorithm>(read_choice(f, algorithms));
        }},
    Key<Communication>{
        {.name = "overlap_slowdown",
         .help = "compute beside which a collective runs takes so many times as long (1)"},
        [](const Field& f, Communication& c) { c.overlap_slowdown = read_slowdown(f); }},
    Key<Communication>{{.name = "global_norm",
                        .help = "clip gradients: all devices wait before the optimizer (true)"},
                       read_into<&Communication::global_norm>},
    Key<Communication>{{.name = "detail",
                        .flag = "--detail",
                        .help = "fast: collectives inside passes are timed once; full: simulated"},
                       [](const Field& f, Communication& c) {
                         c.detail = static_cast<Detail>(read_choice(f, details));
                       }},
};

}  // namespace

std::uint64_t bucket_bytes(const Communication& communication, std::uint32_t copies) {
  constexpr std::uint64_t million = 1'000'000;
  return communication.bucket.value_or(std::max(40 * million, million * copies) *
                                       communication.gradient_bytes);
}

Communication read_communication(const Field& field) {
  Communication communication;
  read_keys<Communication>(field, table, communication);
  return communication;
}

std::vector<KeyInfo> communication_keys() { return key_infos(table); }

std::string_view to_string(Algorithm algorithm) {
  return algorithms.at(static_cast<std::size_t>(algorithm));
}

}  // namespace pipewright::config
