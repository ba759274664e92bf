#include "sim/config/communication.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/nccl_versions.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 2> detail_names{"fast", "full"};

std::uint64_t read_bucket(const Field& field) {
  const std::uint64_t bytes = read_size(field, "the size of a bucket");
  if (bytes == 0) throw wrong(field, "a size of more than 0 bytes, such as 160 MB");
  return bytes;
}

// Reads a number of SMs. 0 is allowed, because copy engines or switches can move the data.
std::uint32_t read_sms(const Field& field) {
  return read_text(field, "a whole number of SMs, such as 16") == "0" ? 0 : read_count(field, "16");
}

Multipath read_multipath(const Field& field) {
  constexpr std::string_view allowed =
      "adaptive, spread, file, or hash with a seed and the flows of a pair, such as hash:3 or "
      "hash:3:4";
  if (const auto multipath = parse_multipath(read_text(field, allowed))) return *multipath;
  throw wrong(field, allowed);
}

constexpr std::array<std::string_view, 3> gradient_sizes{"1", "2", "4"};

std::uint32_t read_gradient_bytes(const Field& field) {
  return 1U << static_cast<std::uint32_t>(read_choice(field, gradient_sizes));
}

std::uint32_t read_nccl(const Field& field) {
  if (const auto version = parse_nccl(read_text(field, nccl_versions))) return *version;
  throw wrong(field, nccl_versions);
}

constexpr std::array communication_table{
    Key<Communication>{{.name = "overlap_p2p",
                        .help = "overlap transfers of boundary tensors with passes",
                        .default_value = "true"},
                       flag<&Communication::overlap_p2p>},
    Key<Communication>{{.name = "overlap_grad_reduce",
                        .help = "reduce gradients in buckets during backward passes",
                        .default_value = "true"},
                       flag<&Communication::overlap_grad_reduce>},
    Key<Communication>{
        {.name = "overlap_param_gather",
         .help = "ZeRO-1, 2: gather weights in buckets during the first forward passes",
         .default_value = "true"},
        flag<&Communication::overlap_param_gather>},
    Key<Communication>{{.name = "zero_gradients",
                        .help = "ZeRO-1: collective that sums up gradients",
                        .default_value = "reduce_scatter"},
                       choice<&Communication::zero_gradients, zero_gradients_names>},
    Key<Communication>{{.name = "zero_weights",
                        .help = "ZeRO-1, 2: distribution of updated weights: one all-gather, a "
                                "broadcast from each rank, or an all-gather with a copy for each "
                                "weight tensor and rank",
                        .default_value = "all_gather"},
                       choice<&Communication::zero_weights, zero_weights_names>},
    Key<Communication>{
        {.name = "tp_comm_overlap",
         .help = "overlap tensor-parallel collectives with their matrix products; needs sp",
         .default_value = "false"},
        flag<&Communication::tp_comm_overlap>},
    Key<Communication>{{.name = "async_tensor_model_parallel_allreduce",
                        .help = "overlap tensor-parallel all-reduces of the backward pass with the "
                                "product of the weight gradient",
                        .default_value = "true"},
                       flag<&Communication::async_tensor_model_parallel_allreduce>},
    Key<Communication>{{.name = "scatter_gather",
                        .alias = "scatter_gather_tensors_in_pipeline",
                        .help = "send boundary tensors in parts, one per GPU of tp",
                        .default_value = "true"},
                       flag<&Communication::scatter_gather>},
    Key<Communication>{
        {.name = "bucket",
         .help = "gradient bytes per reduction bucket",
         .default_value = "40 M parameters, or 1 M per replica if that is more; with FSDP, a "
                          "layer"},
        into<&Communication::bucket, read_bucket>({ValueType::size})},
    Key<Communication>{{.name = "gradient_bytes",
                        .help = "bytes per element in gradient reductions",
                        .default_value = "4"},
                       into<&Communication::gradient_bytes, read_gradient_bytes>(
                           {ValueType::choice, false, gradient_sizes, nullptr})},
    Key<Communication>{
        {.name = "all_reduce",
         .alias = "algorithm",
         .help = "algorithm of collectives that support it (automatic is the choice of NCCL)",
         .default_value = "automatic"},
        choice<&Communication::all_reduce, algorithm_names>},
    Key<Communication>{{.name = "nccl",
                        .help = "NCCL version whose tuning model chooses algorithm and protocol",
                        .default_value = "as in the cluster file"},
                       into<&Communication::nccl, read_nccl>({ValueType::text})},
    Key<Communication>{{.name = "sms",
                        .help = "number of SMs that a collective takes from concurrent compute",
                        .default_value = "16"},
                       into<&Communication::sms, read_sms>({ValueType::count})},
    Key<Communication>{{.name = "overlap_slowdown",
                        .help = "slowdown factor of compute during a collective",
                        .default_value = "from the SMs that are left"},
                       within<&Communication::overlap_slowdown, "a slow-down",
                              "1 (none) to 1e6, such as 1.1", 1, 1'000'000>},
    Key<Communication>{
        {.name = "global_norm",
         .help = "gradient clipping by global norm: all devices wait before the optimizer",
         .default_value = "true"},
        flag<&Communication::global_norm>},
    Key<Communication>{{.name = "detail",
                        .flag = "--detail",
                        .help = "simulation of collectives inside passes (fast times them once, "
                                "full simulates each of them)",
                        .default_value = "fast"},
                       choice<&Communication::detail, detail_names>},
    Key<Communication>{{.name = "multipath",
                        .flag = "--multipath",
                        .help = multipath_help,
                        .default_value = "adaptive"},
                       into<&Communication::multipath, read_multipath>({ValueType::text})},
};

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  return base::name_of(algorithm_names, algorithm);
}

std::optional<Algorithm> parse_algorithm(std::string_view name) {
  return base::value_of<Algorithm>(algorithm_names, name);
}

std::string algorithm_list() {
  return fmt::format("{} or {}",
                     fmt::join(algorithm_names.begin(), algorithm_names.end() - 1, ", "),
                     algorithm_names.back());
}

std::optional<Multipath> parse_multipath(std::string_view text) {
  Multipath multipath;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto by = base::value_of<MultipathBy>(multipath_names, text.substr(0, colon));
  if (!by) return std::nullopt;
  multipath.by = *by;
  std::string_view rest = text.substr(colon);
  if (!rest.empty() && multipath.by != MultipathBy::hash) return std::nullopt;
  for (std::uint32_t* const number : {&multipath.seed, &multipath.flows}) {
    if (rest.empty()) break;
    rest.remove_prefix(1);
    const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), *number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (fault != std::errc() || (!rest.empty() && rest.front() != ':')) return std::nullopt;
  }
  constexpr std::uint32_t max_flows = 128;  // limit of NCCL_IB_QPS_PER_CONNECTION
  if (!rest.empty() || multipath.flows < 1 || multipath.flows > max_flows) return std::nullopt;
  return multipath;
}

std::optional<std::string_view> switches_of(Algorithm algorithm) {
  if (algorithm == Algorithm::nvls) return "inside";
  if (algorithm == Algorithm::sharp) return "between";
  return std::nullopt;
}

std::optional<std::uint32_t> parse_nccl(std::string_view text) {
  constexpr std::string_view major = "2.";
  if (!text.starts_with(major)) return std::nullopt;
  const std::string_view rest = text.substr(major.size());
  const char* const last = rest.data() + rest.size();
  std::uint32_t minor = 0;
  const auto [end, fault] = std::from_chars(rest.data(), last, minor);
  const bool is_number = fault == std::errc() && (end == last || *end == '.');
  const bool is_known = minor >= oldest_nccl && minor <= newest_nccl;
  return is_number && is_known ? std::optional(minor) : std::nullopt;
}

std::uint64_t bucket_bytes(const Communication& communication, std::uint32_t replicas) {
  constexpr std::uint64_t million = 1'000'000;
  return communication.bucket.value_or(std::max(40 * million, million * replicas) *
                                       communication.gradient_bytes);
}

std::optional<std::uint64_t> bucket_parameters(const Communication& communication) {
  const std::uint64_t gradient = communication.gradient_bytes;
  if (!communication.bucket || *communication.bucket % gradient != 0) return std::nullopt;
  return *communication.bucket / gradient;
}

Communication read_communication(const Field& field) {
  return read_map<communication_table>(field);
}

std::vector<KeyRow> communication_keys() { return rows_of(communication_table); }

}  // namespace pipewright::config
