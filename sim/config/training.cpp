#include "sim/config/training.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/config/keys.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

// Reads a number of bytes per parameter. 0 is allowed, as for an optimizer without state.
double read_bytes(const Field& field) {
  if (field.value.text == "0") return 0;
  constexpr double limit = 1000;
  const double bytes = read_positive_number(field, "bytes per parameter");
  if (bytes > limit) throw wrong(field, "bytes per parameter, from 0 to 1000, such as 4");
  return bytes;
}

std::uint32_t read_sequence(const Field& field) {
  constexpr std::uint32_t limit = 1U << 28U;
  const std::uint32_t tokens = read_count(field, "8192");
  if (tokens > limit) throw wrong(field, fmt::format("a whole number from 1 to {}", limit));
  return tokens;
}

template <auto member>
constexpr auto bytes_of = into<member, read_bytes>({ValueType::number});

constexpr std::array bytes_table{
    Key<ParameterBytes>{
        {.name = "weights",
         .help = "bytes per weight; default: as the recipe says, such as 2 with bf16"},
        bytes_of<&ParameterBytes::weights>},
    Key<ParameterBytes>{{.name = "gradients",
                         .help = "bytes per accumulated gradient",
                         .default_value = "as optimizer.main_grads"},
                        bytes_of<&ParameterBytes::gradients>},
    Key<ParameterBytes>{{.name = "optimizer",
                         .help = "bytes of optimizer state per parameter with Adam; another "
                                 "optimizer has its own moments instead of 8 of them",
                         .default_value = "as optimizer"},
                        bytes_of<&ParameterBytes::optimizer>},
    Key<ParameterBytes>{{.name = "gathered",
                         .help = "bytes per weight that ZeRO gathers; default: as the recipe says, "
                                 "such as 2 with bf16"},
                        within<&ParameterBytes::gathered, "the width of a number in bytes",
                               "more than 0 and at most 8 bytes, such as 2", 0, 8>},
    Key<ParameterBytes>{{.name = "gradient_buckets",
                         .help = "bytes per parameter of buckets beside the accumulated gradients, "
                                 "as those of PyTorch's DDP",
                         .default_value = "0"},
                        bytes_of<&ParameterBytes::gradient_buckets>},
};

constexpr std::array training_table{
    Key<Training>{{.name = "microbatch_size",
                   .alias = "micro_batch_size",
                   .flag = "--microbatch-size",
                   .help = "samples per microbatch",
                   .unit = "samples",
                   .default_value = "1"},
                  count<&Training::microbatch_size, "1">},
    Key<Training>{{.name = "sequence",
                   .flag = "--sequence",
                   .help = "tokens per sample; default: sequence length of the model",
                   .unit = "tokens"},
                  into<&Training::sequence, read_sequence>({ValueType::count})},
    Key<Training>{
        {.name = "lengths",
         .help = "documents of different lengths, packed or padded: {mean, p95} or {file}"},
        section<&Training::lengths, read_lengths, lengths_keys>},
    Key<Training>{{.name = "recompute",
                   .flag = "--recompute-activations",
                   .help = "activations that backward passes compute again",
                   .default_value = "none"},
                  into<&Training::recompute, read_recompute>(
                      {ValueType::choice, false, recompute_names, recompute_keys})},
    Key<Training>{{.name = "precision",
                   .flag = "--precision",
                   .help = "precision recipe: data type of the matrix products of layers, or a "
                           "map of modules; tf32 and fp32 keep all tensors in 32 bits",
                   .default_value = "bf16"},
                  {[](const Field& field, Training& training) {
                     Precision precision = read_precision(field);
                     training.precision = precision.recipe;
                     training.module_types = precision.modules;
                   },
                   {ValueType::choice, false, data_types, precision_keys}}},
    Key<Training>{{.name = "fp8_param_gather",
                   .help = "store and gather weights only in the data type of the recipe",
                   .default_value = "false"},
                  flag<&Training::fp8_param_gather>},
    Key<Training>{{.name = "cuda_graphs",
                   .help = "part of the model that the host launches as CUDA graphs",
                   .default_value = "none"},
                  into<&Training::cuda_graphs, read_cuda_graphs>(
                      {ValueType::choice, true, cuda_graph_names, nullptr, graph_modules})},
    Key<Training>{{.name = "tensor_format",
                   .help = "layout of activations (bshd needs a copy after tp gathers sequences)",
                   .default_value = "sbhd"},
                  choice<&Training::tensor_format, tensor_format_names>},
    Key<Training>{{.name = "causal",
                   .help = "causal attention; flash attention skips masked blocks",
                   .default_value = "true"},
                  flag<&Training::causal>},
    Key<Training>{{.name = "flash_attention",
                   .help = "flash attention, which does not store scores",
                   .default_value = "true"},
                  flag<&Training::flash_attention>},
    Key<Training>{{.name = "fused_loss",
                   .help = "fused loss, without an fp32 copy of the logits",
                   .default_value = "true"},
                  flag<&Training::fused_loss>},
    Key<Training>{{.name = "loss_chunks",
                   .help = "chunks of tokens whose logits, loss and gradients are computed one "
                           "after the other, so that all logits are never stored; 1: not chunked",
                   .default_value = "1"},
                  count<&Training::loss_chunks, "8">},
    Key<Training>{{.name = "fused_accumulation",
                   .help = "accumulate gradients within the matrix products of W",
                   .default_value = "true"},
                  flag<&Training::fused_accumulation>},
    Key<Training>{{.name = "deallocate_outputs",
                   .help = "free the output of a stage after sending it",
                   .default_value = "true"},
                  flag<&Training::deallocate_outputs>},
    Key<Training>{{.name = "deterministic",
                   .alias = "deterministic_mode",
                   .help = "run gated delta nets as loops of PyTorch's operations, whose sums do "
                           "not change from run to run",
                   .default_value = "false"},
                  flag<&Training::deterministic>},
    Key<Training>{{.name = "vocabulary_multiple",
                   .help = "pad the vocabulary to a multiple of this times tp",
                   .default_value = "128"},
                  count<&Training::vocabulary_multiple, "128">},
    Key<Training>{{.name = "bytes",
                   .help = "bytes per parameter: {weights, gradients, optimizer, gathered, "
                           "gradient_buckets}"},
                  map_of<&Training::bytes, bytes_table>},
    Key<Training>{
        {.name = "optimizer", .help = "optimizer, with data types and place of its state"},
        section<&Training::optimizer, read_optimizer, optimizer_keys>},
    Key<Training>{{.name = "activation_func_fp8_input_store",
                   .help = "store the input of gated activation functions in FP8",
                   .default_value = "false"},
                  flag<&Training::activation_func_fp8_input_store>},
    Key<Training>{{.name = "offload",
                   .help = "activations to offload to host memory: {num_layers, share, bandwidth, "
                           "modules}"},
                  section<&Training::offload, read_offload, offload_keys>},
    Key<Training>{{.name = "lora",
                   .help = "adapters of low rank that are trained beside frozen weights: {rank, "
                           "modules, experts, base, dropout}"},
                  section<&Training::lora, read_lora, lora_keys>},
    Key<Training>{
        {.name = "frozen",
         .help = "groups of weights that are not trained",
         .default_value = "all with lora, else none"},
        into<&Training::frozen, read_frozen>({ValueType::choice, true, weight_groups, nullptr})},
    Key<Training>{{.name = "experts", .help = "dispatch of tokens to experts"},
                  section<&Training::experts, read_expert_training, expert_training_keys>},
    Key<Training>{{.name = "fragmentation",
                   .help = "allowance for fragmentation, as a fraction of activations",
                   .default_value = "stack.memory"},
                  part<&Training::fragmentation, "a part of the activations">},
    Key<Training>{{.name = "reserved",
                   .help = "memory reserved by the CUDA context and NCCL",
                   .default_value = "stack.memory"},
                  size<&Training::reserved, "a size of memory">},
};

}  // namespace

Training read_training(const Field& field) {
  Training training = read_map<training_table>(field);
  const Value* const optimizer = find(field.value, "optimizer");
  if (training.optimizer.main_params == Optimizer::MainParams::remainders &&
      training.fp8_param_gather)
    throw wrong(
        {*find(*optimizer, "main_params"), field.name + ".optimizer.main_params"},
        "fp32 or fp16, as fp8_param_gather has no bf16 weights that remainders could complete");
  return training;
}

void set_stack(Training& training, const Value& root, Stack stack) {
  training.stack = std::move(stack);
  std::vector<AttentionKernel>& kernels = training.stack.attention;
  const Value* const section = find(root, "training");
  const auto set_in_scenario = [section](std::string_view key) {
    return section == nullptr ? nullptr : find(*section, key);
  };
  if (set_in_scenario("fused_loss") == nullptr)
    training.fused_loss = training.stack.fuses(Fusable::cross_entropy);
  if (set_in_scenario("fragmentation") == nullptr)
    training.fragmentation = training.stack.memory.fragmentation;
  if (set_in_scenario("reserved") == nullptr) training.reserved = training.stack.memory.reserved();
  const Value* const recompute = set_in_scenario("recompute");
  if (training.recompute.granularity != Recompute::Granularity::full)
    training.recompute.early_stop = false;  // only whole layers can stop early
  else if (find(*recompute, "early_stop") == nullptr)
    training.recompute.early_stop = training.stack.early_stop;
  const Value* const flag = set_in_scenario("flash_attention");
  if (flag == nullptr)
    training.flash_attention =
        kernels.front() != AttentionKernel::unfused && !has_32_bits(training.precision);
  if (!training.flash_attention) return;
  std::erase(kernels, AttentionKernel::unfused);
  if (kernels.empty())
    throw Error(flag->origin,
                fmt::format("training.flash_attention is true, but the stack {} has no fused "
                            "attention kernel",
                            training.stack.name))
        .suggest("set stack.attention too, such as [fa2]");
}

Precision precision_of(const Training& training) {
  return {.recipe = training.precision, .modules = training.module_types};
}

double copy_bytes(DataType type) { return keeps_casts(type) ? 2 * element_bytes(type) : 0; }

double cast_bytes(DataType type) { return keeps_casts(type) ? 2 + copy_bytes(type) : 0; }

double weight_bytes(const Training& training, DataType type) {
  if (training.bytes.weights) return *training.bytes.weights;
  if (!keeps_casts(type)) return value_bytes(training.precision);
  return (training.fp8_param_gather ? 0 : 2) + copy_bytes(type);
}

double weight_bytes(const Training& training) { return weight_bytes(training, training.precision); }

double gathered_bytes(const Training& training, DataType type) {
  if (training.bytes.gathered) return *training.bytes.gathered;
  return training.fp8_param_gather && keeps_casts(type) ? element_bytes(type)
                                                        : value_bytes(training.precision);
}

double gathered_bytes(const Training& training) {
  return gathered_bytes(training, training.precision);
}

double gradient_bytes(const Training& training) {
  return training.bytes.gradients.value_or(gradient_bytes(training.optimizer));
}

double main_weight_bytes(const Training& training) {
  constexpr double moments = 8;
  if (training.bytes.optimizer) return std::max(0.0, *training.bytes.optimizer - moments);
  return has_32_bits(training.precision) ? 0 : main_bytes(training.optimizer);
}

bool has_own_base(const Training& training) {
  return training.lora && training.lora->base != Lora::Base::recipe;
}

bool dequantizes(const Training& training) {
  return has_own_base(training) && !is_scaled(training.precision);
}

double optimizer_bytes(const Training& training) {
  const bool is_given =
      training.bytes.optimizer && (training.optimizer.name == Optimizer::Name::adam ||
                                   training.optimizer.name == Optimizer::Name::muon);
  return is_given ? *training.bytes.optimizer
                  : main_weight_bytes(training) + moments_bytes(training.optimizer);
}

double matrix_optimizer_bytes(const Training& training) {
  if (training.optimizer.name == Optimizer::Name::adam) return optimizer_bytes(training);
  return main_weight_bytes(training) + matrix_moments_bytes(training.optimizer);
}

std::vector<KeyRow> training_keys() { return rows_of(training_table); }

}  // namespace pipewright::config
