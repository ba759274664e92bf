#include "sim/config/training.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/keys.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

// Bytes of a parameter; 0 is one, as of an optimizer without state.
double read_bytes(const Field& field) {
  if (field.value.text == "0") return 0;
  constexpr double most = 1000;
  const double bytes = read_positive_number(field, "bytes of a parameter");
  if (bytes > most) throw wrong(field, "bytes of a parameter, from 0 to 1000, such as 4");
  return bytes;
}

std::uint32_t read_sequence(const Field& field) {
  constexpr std::uint32_t most = 1U << 28U;
  const std::uint32_t tokens = read_count(field, "8192");
  if (tokens > most) throw wrong(field, fmt::format("a whole number from 1 to {}", most));
  return tokens;
}

template <auto member>
constexpr auto bytes_of = into<member, read_bytes>({ValueType::number});

constexpr std::array bytes_table{
    Key<ParameterBytes>{{.name = "weights", .help = "of each weight; else 2, or the recipe's"},
                        bytes_of<&ParameterBytes::weights>},
    Key<ParameterBytes>{{.name = "gradients",
                         .help = "of each gradient where it is summed",
                         .default_value = "as optimizer.main_grads"},
                        bytes_of<&ParameterBytes::gradients>},
    Key<ParameterBytes>{{.name = "optimizer",
                         .help = "of each parameter's optimizer state",
                         .default_value = "as optimizer"},
                        bytes_of<&ParameterBytes::optimizer>},
    Key<ParameterBytes>{
        {.name = "gathered", .help = "of each weight that ZeRO gathers; else 2, or the recipe's"},
        within<&ParameterBytes::gathered, "the width of a number in bytes",
               "more than 0 and at most 8 bytes, such as 2", 0, 8>},
};

double read_host_bandwidth(const Field& field) {
  return parse_bandwidth(read_text(field, "a bandwidth such as 55 GB/s"), subject(field),
                         "what goes to the host and back");
}

constexpr std::array offload_table{
    Key<Offload>{{.name = "num_layers",
                  .alias = "cpu_offloading_num_layers",
                  .help = "the first so many layers of each stage",
                  .default_value = "all"},
                 count<&Offload::layers, "4">},
    Key<Offload>{
        {.name = "share", .help = "part of the activations of these layers", .default_value = "1"},
        part<&Offload::share, "a part of the activations">},
    Key<Offload>{{.name = "bandwidth",
                  .help = "between a GPU and its host, each way",
                  .default_value = "gpu.host_bandwidth"},
                 into<&Offload::bandwidth, read_host_bandwidth>({ValueType::rate})},
};

constexpr std::array table{
    Key<Training>{{.name = "microbatch_size",
                   .alias = "micro_batch_size",
                   .flag = "--microbatch-size",
                   .help = "samples of a microbatch",
                   .unit = "samples",
                   .default_value = "1"},
                  count<&Training::microbatch_size, "1">},
    Key<Training>{{.name = "sequence",
                   .flag = "--sequence",
                   .help = "tokens of a sample; else the model's",
                   .unit = "tokens"},
                  into<&Training::sequence, read_sequence>({ValueType::count})},
    Key<Training>{{.name = "lengths",
                   .help = "documents of different lengths: {mean, p95}, {file}, packed or not"},
                  section<&Training::lengths, read_lengths, lengths_keys>},
    Key<Training>{{.name = "recompute",
                   .flag = "--recompute-activations",
                   .help = "what backward passes compute again",
                   .default_value = "none"},
                  into<&Training::recompute, read_recompute>(
                      {ValueType::choice, false, recompute_names, recompute_keys})},
    Key<Training>{{.name = "precision",
                   .flag = "--precision",
                   .help = "recipe: data type of the layers' products",
                   .default_value = "bf16"},
                  choice<&Training::precision, recipes>},
    Key<Training>{{.name = "fp8_param_gather",
                   .help = "weights are kept and gathered in the recipe's type alone",
                   .default_value = "false"},
                  flag<&Training::fp8_param_gather>},
    Key<Training>{{.name = "cuda_graphs",
                   .help = "what the host launches as one, instead of each kernel",
                   .default_value = "none"},
                  choice<&Training::cuda_graphs, cuda_graph_names>},
    Key<Training>{{.name = "tensor_format",
                   .help = "bshd: parts of sequences that tp gathers are put together by a copy",
                   .default_value = "sbhd"},
                  choice<&Training::tensor_format, tensor_format_names>},
    Key<Training>{
        {.name = "causal", .help = "flash attention skips what is masked", .default_value = "true"},
        flag<&Training::causal>},
    Key<Training>{
        {.name = "flash_attention", .help = "scores are never kept", .default_value = "true"},
        flag<&Training::flash_attention>},
    Key<Training>{
        {.name = "fused_loss", .help = "no fp32 copy of the logits", .default_value = "true"},
        flag<&Training::fused_loss>},
    Key<Training>{{.name = "fused_accumulation",
                   .help = "W adds to the gradients within its products",
                   .default_value = "true"},
                  flag<&Training::fused_accumulation>},
    Key<Training>{{.name = "deallocate_outputs",
                   .help = "free a stage's output once sent",
                   .default_value = "true"},
                  flag<&Training::deallocate_outputs>},
    Key<Training>{{.name = "vocabulary_multiple",
                   .help = "the vocabulary is padded to so many times tp",
                   .default_value = "128"},
                  count<&Training::vocabulary_multiple, "128">},
    Key<Training>{
        {.name = "bytes", .help = "of a parameter: weights, gradients, optimizer, gathered"},
        map_of<&Training::bytes, bytes_table>},
    Key<Training>{{.name = "optimizer", .help = "number formats of Adam's state, a map"},
                  section<&Training::optimizer, read_optimizer, optimizer_keys>},
    Key<Training>{{.name = "activation_func_fp8_input_store",
                   .help = "what gated activation functions take is kept in FP8",
                   .default_value = "false"},
                  flag<&Training::activation_func_fp8_input_store>},
    Key<Training>{
        {.name = "offload",
         .help = "activations that wait in the host's memory: {num_layers, share, bandwidth}"},
        map_of<&Training::offload, offload_table>},
    Key<Training>{{.name = "experts", .help = "how tokens get to experts: a map"},
                  section<&Training::experts, read_expert_training, expert_training_keys>},
    Key<Training>{{.name = "fragmentation",
                   .help = "allowance, a part of the activations",
                   .default_value = "10 %"},
                  part<&Training::fragmentation, "a part of the activations">},
    Key<Training>{{.name = "reserved",
                   .help = "bytes that CUDA's context and NCCL keep",
                   .default_value = "2 GiB"},
                  size<&Training::reserved, "a size of memory">},
};

}  // namespace

Training read_training(const Field& field) {
  Training training = read_map<table>(field);
  const Value* const optimizer = find(field.value, "optimizer");
  if (training.optimizer.main_params == Optimizer::MainParams::remainders &&
      training.fp8_param_gather)
    throw wrong({*find(*optimizer, "main_params"), field.name + ".optimizer.main_params"},
                "fp32 or fp16 with fp8_param_gather, whose weights are no halves of fp32 numbers");
  return training;
}

double weight_bytes(const Training& training) {
  if (training.bytes.weights) return *training.bytes.weights;
  if (!is_scaled(training.precision)) return 2;
  return (training.fp8_param_gather ? 0 : 2) + 2 * element_bytes(training.precision);
}

double gathered_bytes(const Training& training) {
  if (training.bytes.gathered) return *training.bytes.gathered;
  return training.fp8_param_gather ? element_bytes(training.precision) : 2;
}

double gradient_bytes(const Training& training) {
  return training.bytes.gradients.value_or(gradient_bytes(training.optimizer));
}

double optimizer_bytes(const Training& training) {
  return training.bytes.optimizer.value_or(state_bytes(training.optimizer));
}

std::vector<KeyRow> training_keys() { return rows_of(table); }

}  // namespace pipewright::config
