#include "sim/config/gpu.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/derived_gpu.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/nearest_gpu.hpp"
#include "sim/config/published_range.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

double read_flops(const Field& field) {
  constexpr std::string_view noun = "a GPU's speed";
  return parse_flops(read_text(field, "a rate such as 312 TFLOP/s"), subject(field), noun);
}

double read_bandwidth(const Field& field) {
  constexpr std::string_view noun = "a bandwidth of GPU memory";
  return parse_bandwidth(read_text(field, "a bandwidth such as 2039 GB/s"), subject(field), noun);
}

std::uint64_t read_memory(const Field& field) {
  constexpr std::string_view noun = "a GPU's memory";
  return parse_memory(read_text(field, "a size such as 80 GiB"), subject(field), noun);
}

template <auto member>
constexpr auto efficiency =
    within<member, "a part of the peak", "a part above 0 and at most 1, such as 0.85", 0, 1>;

// Reader of a clock factor. It may exceed 1: kernels of a run can be faster than the single kernels
// to which the efficiencies were fitted.
template <auto member>
constexpr auto clock_part =
    within<member, "a part such as 0.9", "a part above 0 and at most 2, such as 0.9", 0, 2>;

constexpr auto read_cast =
    none_or_within<"a number of bytes", "a number of bytes, at most 100, such as 5", 100>;

std::uint32_t read_processors(const Field& field) {
  constexpr std::uint32_t limit = 10'000;  // the largest GPUs have about 300
  const std::uint32_t count = read_count(field, "108");
  if (count > limit)
    throw wrong(field, fmt::format("a whole number from 1 to {}, such as 108", limit));
  return count;
}

constexpr std::array grouped_table{
    Key<GroupedProducts>{{.name = "efficiency",
                          .help = "fraction of peak FLOP/s reached within tiles of the results",
                          .required = true},
                         efficiency<&GroupedProducts::efficiency>},
    Key<GroupedProducts>{
        {.name = "wave", .help = "time to start and end each wave of tiles", .required = true},
        kernel_time<&GroupedProducts::wave>},
    Key<GroupedProducts>{
        {.name = "overhead",
         .help = "overhead of each grouped kernel, including the sorting of its input",
         .required = true},
        kernel_time<&GroupedProducts::overhead>},
    Key<GroupedProducts>{{.name = "cast",
                          .help = "memory traffic of a cast, per element, fitted to kernel tables",
                          .unit = "bytes"},
                         into<&GroupedProducts::cast, read_cast>({ValueType::number})},
};

constexpr std::array products_table{
    Key<Products>{{.name = "flops", .help = "dense FLOP/s, such as 1979 TFLOP/s"},
                  into<&Products::flops, read_flops>({ValueType::rate})},
    Key<Products>{{.name = "clock",
                   .help = "clock of these products in a long run, relative to single kernels; "
                           "default: clock.products"},
                  clock_part<&Products::clock>},
    Key<Products>{{.name = "efficiency",
                   .help = "fraction of peak FLOP/s reached within tiles of the result",
                   .default_value = "0.8"},
                  efficiency<&Products::efficiency>},
    Key<Products>{{.name = "wave",
                   .help = "time to start and end each wave of tiles",
                   .default_value = "0.5 us"},
                  kernel_time<&Products::wave>},
    Key<Products>{
        {.name = "overhead", .help = "overhead of each matrix product", .default_value = "2 us"},
        kernel_time<&Products::overhead>},
    Key<Products>{{.name = "cast",
                   .help = "memory traffic of a cast, per element, fitted to kernel tables",
                   .unit = "bytes"},
                  into<&Products::cast, read_cast>({ValueType::number})},
    Key<Products>{{.name = "cast_overhead",
                   .help = "overhead of each cast, fitted to kernel tables",
                   .default_value = "0 us"},
                  kernel_time<&Products::cast_overhead>},
    Key<Products>{
        {.name = "grouped",
         .help = "rates and overheads of products of several matrices in one kernel, as of "
                 "experts; default: as single products"},
        map_of<&Products::grouped, grouped_table>},
};

template <auto member>
constexpr auto products = map_of<member, products_table>;

constexpr std::array types_table{
    Key<ProductTypes>{
        {.name = "bf16",
         .help = "rates and overheads of matrix products in bf16; default flops: those of the GPU"},
        products<&ProductTypes::bf16>},
    Key<ProductTypes>{
        {.name = "fp16",
         .help = "rates and overheads of matrix products in fp16; default: as in bf16"},
        products<&ProductTypes::fp16>},
    Key<ProductTypes>{
        {.name = "fp8",
         .help = "rates and overheads of matrix products in FP8 with one scale per tensor"},
        products<&ProductTypes::fp8>},
    Key<ProductTypes>{
        {.name = "fp8-row",
         .help = "rates and overheads of matrix products in FP8 with one scale per row; default: "
                 "as in fp8"},
        products<&ProductTypes::fp8_row>},
    Key<ProductTypes>{
        {.name = "fp8-block",
         .help = "rates and overheads of matrix products in FP8 with one scale per block of 128"},
        products<&ProductTypes::fp8_block>},
    Key<ProductTypes>{
        {.name = "mxfp8",
         .help = "rates and overheads of matrix products in FP8 with one scale per 32 elements"},
        products<&ProductTypes::mxfp8>},
    Key<ProductTypes>{
        {.name = "nvfp4",
         .help = "rates and overheads of matrix products in FP4 with one scale per 16 elements"},
        products<&ProductTypes::nvfp4>},
    Key<ProductTypes>{
        {.name = "mxfp4",
         .help = "rates and overheads of matrix products in FP4 with one scale per 32 elements"},
        products<&ProductTypes::mxfp4>},
    Key<ProductTypes>{
        {.name = "tf32", .help = "rates and overheads of matrix products of fp32 numbers in TF32"},
        products<&ProductTypes::tf32>},
    Key<ProductTypes>{
        {.name = "fp32", .help = "rates and overheads of matrix products in whole fp32"},
        products<&ProductTypes::fp32>},
};

constexpr auto read_keys_number =
    none_or_within<"a number of keys", "a number of at most 1e6, such as 1400", 1'000'000>;

constexpr std::array scaled_rates_table{
    Key<ScaledAttentionRates>{
        {.name = "forward",
         .help = "fraction of the type's peak FLOP/s that long fused attention reaches, forward",
         .required = true},
        efficiency<&ScaledAttentionRates::forward>},
    Key<ScaledAttentionRates>{
        {.name = "backward",
         .help = "fraction of the type's peak FLOP/s that long fused attention reaches, backward",
         .required = true},
        efficiency<&ScaledAttentionRates::backward>},
    Key<ScaledAttentionRates>{
        {.name = "half_length",
         .help = "number of keys at which fused attention reaches half of these fractions",
         .unit = "tokens",
         .default_value = "0"},
        into<&ScaledAttentionRates::half_length, read_keys_number>({ValueType::number})},
    Key<ScaledAttentionRates>{
        {.name = "backward_half_length",
         .help = "half_length of the backward pass; default: half_length",
         .unit = "tokens"},
        into<&ScaledAttentionRates::backward_half_length, read_keys_number>({ValueType::number})},
    Key<ScaledAttentionRates>{
        {.name = "uneven_forward",
         .help = "fraction of the type's peak FLOP/s, forward, for heads whose keys and values "
                 "differ in size; default: forward"},
        efficiency<&ScaledAttentionRates::uneven_forward>},
    Key<ScaledAttentionRates>{
        {.name = "uneven_backward",
         .help = "fraction of the type's peak FLOP/s, backward, for heads whose keys and values "
                 "differ in size; default: backward"},
        efficiency<&ScaledAttentionRates::uneven_backward>},
};

constexpr Key<AttentionRates> forward_rate{
    {.name = "forward",
     .help = "fraction of peak FLOP/s that long fused attention reaches, forward",
     .default_value = "0.5"},
    efficiency<&AttentionRates::forward>};
constexpr Key<AttentionRates> backward_rate{
    {.name = "backward",
     .help = "fraction of peak FLOP/s that long fused attention reaches, backward",
     .default_value = "0.4"},
    efficiency<&AttentionRates::backward>};
constexpr Key<AttentionRates> half_length{
    {.name = "half_length",
     .help = "number of keys at which fused attention reaches half of these fractions",
     .unit = "tokens",
     .default_value = "0"},
    into<&AttentionRates::half_length, read_keys_number>({ValueType::number})};
constexpr Key<AttentionRates> uneven_backward_rate{
    {.name = "uneven_backward",
     .help = "fraction of peak FLOP/s that long fused attention reaches, backward, if keys and "
             "values of a head differ in size, such as 192 and 128; default: backward"},
    efficiency<&AttentionRates::uneven_backward>};

constexpr std::array rates_table{forward_rate, backward_rate, half_length, uneven_backward_rate};
// Rates of kernels that take queries, keys and values of 8 bits, too.
constexpr std::array cudnn_table{
    forward_rate,
    backward_rate,
    half_length,
    uneven_backward_rate,
    Key<AttentionRates>{
        {.name = "fp8", .help = "efficiency with one scale per tensor of queries, keys and values"},
        map_of<&AttentionRates::fp8, scaled_rates_table>},
    Key<AttentionRates>{{.name = "mxfp8", .help = "efficiency with one scale per 32 elements"},
                        map_of<&AttentionRates::mxfp8, scaled_rates_table>}};

template <auto member>
constexpr auto rates = map_of<member, rates_table>;

constexpr std::array attention_table{
    Key<AttentionKernels>{
        {.name = "fa1", .help = "efficiency of FlashAttention 1 and of its version in Triton"},
        rates<&AttentionKernels::fa1>},
    Key<AttentionKernels>{{.name = "fa2", .help = "efficiency of FlashAttention 2"},
                          rates<&AttentionKernels::fa2>},
    Key<AttentionKernels>{{.name = "fa3", .help = "efficiency of FlashAttention 3"},
                          rates<&AttentionKernels::fa3>},
    Key<AttentionKernels>{
        {.name = "cudnn", .help = "efficiency of cuDNN's attention from version 9.4 on"},
        map_of<&AttentionKernels::cudnn, cudnn_table>},
    Key<AttentionKernels>{
        {.name = "cudnn-9-2", .help = "efficiency of cuDNN's attention before version 9.4"},
        rates<&AttentionKernels::cudnn_9_2>},
    Key<AttentionKernels>{
        {.name = "ck", .help = "efficiency of attention in ROCm's Composable Kernel"},
        rates<&AttentionKernels::ck>},
    Key<AttentionKernels>{{.name = "aiter", .help = "efficiency of attention in ROCm's AITER"},
                          rates<&AttentionKernels::aiter>},
    Key<AttentionKernels>{{.name = "aotriton", .help = "efficiency of PyTorch's attention on ROCm"},
                          rates<&AttentionKernels::aotriton>},
    Key<AttentionKernels>{
        {.name = "unfused",
         .help = "fraction of peak FLOP/s in the products of attention that stores its scores",
         .default_value = "0.42"},
        efficiency<&AttentionKernels::unfused>},
};

constexpr std::array clock_table{
    Key<Clock>{{.name = "products",
                .help = "clock of matrix products, relative to single kernels",
                .default_value = "1"},
               clock_part<&Clock::products>},
    Key<Clock>{{.name = "attention",
                .help = "clock of fused attention, relative to single kernels",
                .default_value = "1"},
               clock_part<&Clock::attention>},
    Key<Clock>{{.name = "memory",
                .help = "clock of memory-bound kernels, relative to single kernels",
                .default_value = "1"},
               clock_part<&Clock::memory>},
};

double read_power(const Field& field) {
  return parse_power(read_text(field, "a power such as 700 W"), subject(field), "a GPU's power");
}
constexpr std::array power_table{
    Key<Power>{{.name = "compute",
                .help = "power while the GPU computes, such as 700 W",
                .required = true},
               into<&Power::compute, read_power>({ValueType::number})},
    Key<Power>{{.name = "idle", .help = "power while the GPU is idle", .required = true},
               into<&Power::idle, read_power>({ValueType::number})},
};

std::vector<DerivedNumber> read_derived(const Field& field) {
  constexpr std::string_view allowed = "keys of this file, such as [attention, clock]";
  if (field.value.kind != Value::Kind::map)
    throw wrong(field, "a map from GPUs to keys of this file, such as {b200: [attention, clock]}");
  std::vector<DerivedNumber> derived;
  for (const Entry& entry : field.value.entries)
    for (std::string& key :
         read_key_names({entry.value, field.name + "." + entry.key}, gpu_keys(), allowed))
      derived.push_back({std::move(key), entry.key});
  return derived;
}

constexpr std::array gpu_table{
    Key<Gpu>{{.name = "name", .help = "name of the GPU; default: name of the file"},
             text<&Gpu::name, "a name">},
    Key<Gpu>{{.name = "source", .help = "source of the numbers"}, {[](const Field& f, Gpu&) {
               read_text(f, "a text that names the source of the numbers");
             }}},
    Key<Gpu>{{.name = "architecture", .help = "architecture that GPUs share, such as Hopper"},
             text<&Gpu::architecture, "the name of an architecture, such as Hopper">},
    Key<Gpu>{{.name = "like",
              .help = "measured GPU from which the numbers come that this file does not state"},
             {[](const Field&, Gpu&) {}, {ValueType::library}}},
    Key<Gpu>{
        {.name = "flops", .help = "dense FLOP/s in bf16, such as 312 TFLOP/s", .required = true},
        into<&Gpu::flops, read_flops>({ValueType::rate})},
    Key<Gpu>{{.name = "memory", .help = "memory of the GPU, such as 80 GiB", .required = true},
             into<&Gpu::memory, read_memory>({ValueType::size})},
    Key<Gpu>{{.name = "free_memory", .help = "free memory that CUDA reports on an empty GPU"},
             into<&Gpu::free_memory, read_memory>({ValueType::size})},
    Key<Gpu>{{.name = "memory_bandwidth",
              .help = "bandwidth of the GPU's memory, such as 2039 GB/s",
              .required = true},
             into<&Gpu::memory_bandwidth, read_bandwidth>({ValueType::rate})},
    Key<Gpu>{
        {.name = "host_bandwidth", .help = "bandwidth to host memory, each way, such as 55 GB/s"},
        into<&Gpu::host_bandwidth, read_bandwidth>({ValueType::rate})},
    Key<Gpu>{{.name = "processors",
              .help = "number of SMs or compute units, such as 108",
              .required = true},
             into<&Gpu::processors, read_processors>({ValueType::count})},
    Key<Gpu>{{.name = "products", .help = "rates and overheads of matrix products, by data type"},
             map_of<&Gpu::products, types_table>},
    Key<Gpu>{{.name = "attention", .help = "efficiency of attention kernels by name"},
             map_of<&Gpu::attention, attention_table>},
    Key<Gpu>{{.name = "memory_efficiency",
              .help = "fraction of memory_bandwidth that kernels reach",
              .default_value = "0.75"},
             efficiency<&Gpu::memory_efficiency>},
    Key<Gpu>{{.name = "recurrence_efficiency",
              .help = "fraction of memory_bandwidth that kernels of Mamba-2 reach",
              .default_value = "0.2"},
             efficiency<&Gpu::recurrence_efficiency>},
    Key<Gpu>{{.name = "delta_efficiency",
              .help = "fraction of memory_bandwidth that kernels of gated delta nets reach",
              .default_value = "recurrence_efficiency"},
             efficiency<&Gpu::delta_efficiency>},
    Key<Gpu>{{.name = "kernel_overhead",
              .help = "overhead of each kernel that is not a matrix product",
              .default_value = "5 us"},
             kernel_time<&Gpu::kernel_overhead>},
    Key<Gpu>{{.name = "clock",
              .help = "clock in a long run relative to the clock of single measured kernels"},
             map_of<&Gpu::clock, clock_table>},
    Key<Gpu>{{.name = "power", .help = "power draw, for the energy of a training run"},
             map_of<&Gpu::power, power_table>},
    Key<Gpu>{
        {.name = "assumed", .help = "list of the keys of this file whose values are assumed"},
        key_names<&Gpu::assumed, gpu_keys, "keys of this file, such as [products.fp8, clock]">},
    Key<Gpu>{{.name = "derived",
              .help = "lists of the keys of this file whose values come from other GPUs, by GPU"},
             into<&Gpu::derived, read_derived>({ValueType::map})},
};

// Pointers to the members of ProductTypes, indexed by DataType.
constexpr std::array<std::optional<Products> ProductTypes::*, data_types.size()> products_members{
    &ProductTypes::bf16,      &ProductTypes::fp16,  &ProductTypes::fp8,   &ProductTypes::fp8_row,
    &ProductTypes::fp8_block, &ProductTypes::mxfp8, &ProductTypes::nvfp4, &ProductTypes::mxfp4,
    &ProductTypes::tf32,      &ProductTypes::fp32};

void check_peak(const Field& map, const Gpu& gpu, DataType type, const Products& rates) {
  const std::string path = fmt::format("products.{}.flops", name_of(type));
  const Origin& origin = origin_of(map.value, path);
  const std::string key = fmt::format("{}.{}", map.name, path);
  if (rates.flops == 0)
    throw Error(origin, fmt::format("{} is missing: its dense FLOP/s, such as 1979 TFLOP/s", key));
  // Narrower types have at least the peak of bf16. The limit is lower because measured peaks can be
  // a little below it.
  constexpr double lowest = 0.5;
  if (is_scaled(type) && rates.flops < lowest * gpu.flops)
    throw Error(
        origin,
        fmt::format("{} is {:.4g} TFLOP/s, less than half of the {:.4g} TFLOP/s of bf16 (flops)",
                    key, rates.flops / 1e12, gpu.flops / 1e12))
        .allow("the dense peak of the narrower type, which is no less");
}

// Rejects a map that changes single keys of a GPU without naming one. It must name a GPU or
// describe a complete one, even if the cluster has GPUs.
void check_names_gpu(const Field& field) {
  const Value& value = field.value;
  if (value.kind != Value::Kind::map || value.entries.empty()) return;
  for (const std::string_view key : {"like", "flops", "memory", "memory_bandwidth", "processors"})
    if (find(value, key) != nullptr) return;
  const Entry& first = value.entries.front();
  throw Error(first.value.origin,
              fmt::format("{}.{} changes a GPU, but no GPU is named", field.name, first.key))
      .suggest(fmt::format("name the GPU or its file too, as in --gpu h100-sxm, even if it is the "
                           "cluster's, or give {}.flops and the other keys of a GPU",
                           field.name));
}

Gpu read_complete_gpu(const Field& map) {
  const Value tree = at_range_end(derived_gpu_tree(map), RangeEnd::middle);
  Gpu gpu = read_map<gpu_table>({tree, map.name});
  if (!gpu.products.bf16) gpu.products.bf16.emplace(Products{});
  if (!gpu.products.fp16) gpu.products.fp16 = gpu.products.bf16;
  if (!gpu.products.fp8_row) gpu.products.fp8_row = gpu.products.fp8;
  for (const auto type : {DataType::bf16, DataType::fp16}) {
    Products& rates = *(gpu.products.*products_members[static_cast<std::size_t>(type)]);
    if (rates.flops == 0) rates.flops = gpu.flops;
  }
  for (std::size_t type = 0; type < data_types.size(); ++type)
    if (const auto& rates = gpu.products.*products_members[type])
      check_peak({tree, map.name}, gpu, static_cast<DataType>(type), *rates);
  // Tolerates makers that state memory in GB but mean GiB.
  constexpr double gib_per_gb = 0x1p30 / 1e9;
  if (static_cast<double>(gpu.free_memory.value_or(0)) >
      gib_per_gb * static_cast<double>(gpu.memory))
    throw Error(origin_of(tree, "free_memory"),
                fmt::format("{}.free_memory is more than {}.memory", map.name, map.name))
        .allow("the free memory that CUDA reports on an empty GPU, such as 79.1 GiB of 80 GiB");
  return gpu;
}

}  // namespace

Value gpu_tree(const Field& field) {
  return with_nearest_gpu(library_map(field, "gpus", gpu_document),
                          label_of_file(field.value.text));
}

Value named_gpu_tree(const Field& field) {
  Value tree = with_name(gpu_tree(field), field, label_of_file(field.value.text));
  if (Value* const like = find(tree, "like");
      like != nullptr && !is_library_name(like->text, ".yaml")) {
    like->text = std::filesystem::absolute(like->origin.folder / std::filesystem::path(like->text))
                     .lexically_normal()
                     .string();
    like->origin.folder.clear();
  }
  return tree;
}

Gpu read_gpu(const Field& field) {
  check_names_gpu(field);
  Gpu gpu = read_complete_gpu({gpu_tree(field), field.name});
  if (gpu.name.empty() && field.value.kind == Value::Kind::text)
    gpu.name = std::filesystem::path(field.value.text).stem().string();
  return gpu;
}

Gpu find_gpu(const std::string& name_or_path) {
  const bool is_listed = is_library_name(name_or_path, ".yaml");
  const std::filesystem::path path =
      is_listed ? library_file("gpus", name_or_path, ".yaml") : std::filesystem::path(name_or_path);
  const Value text = make_text(path.string(), {});
  const Value tree = is_listed ? library_map({text, "the GPU"}, "gpus", gpu_document)
                               : read_yaml_file(path.string(), gpu_document);
  Gpu gpu = read_complete_gpu({with_nearest_gpu(tree, path.stem().string()), "the GPU"});
  if (gpu.name.empty()) gpu.name = path.stem().string();
  return gpu;
}

std::vector<std::string> unsourced_keys(const Gpu& gpu) {
  std::vector<std::string> keys;
  for (const std::string& key : gpu.assumed)
    if (std::ranges::none_of(gpu.derived, [&](const DerivedNumber& number) {
          return key == number.key || key.starts_with(number.key + ".");
        }))
      keys.push_back(key);
  for (const DerivedNumber& number : gpu.derived) keys.push_back(number.key);
  return keys;
}

std::string name_with_sources(const Gpu& gpu) {
  std::vector<std::string_view> sources;
  for (const DerivedNumber& number : gpu.derived)
    if (std::ranges::find(sources, number.source) == sources.end())
      sources.push_back(number.source);
  if (sources.empty()) return gpu.name;
  return fmt::format("{} (derived from {})", gpu.name, fmt::join(sources, " and "));
}

Gpu with_processors(Gpu gpu, std::uint32_t processors) {
  const double fraction = static_cast<double>(processors) / gpu.processors;
  gpu.flops *= fraction;
  for (const auto type : products_members)
    if (auto& products = gpu.products.*type) products->flops *= fraction;
  gpu.processors = processors;
  return gpu;
}

Gpu with_products_clock(Gpu gpu, double clock) {
  for (const auto type : products_members)
    if (auto& products = gpu.products.*type; products && products->clock)
      *products->clock *= clock / gpu.clock.products;
  gpu.clock.products = clock;
  return gpu;
}

Gpu at_full_clock(Gpu gpu) {
  gpu.clock = {};
  for (const auto type : products_members)
    if (auto& products = gpu.products.*type) products->clock.reset();
  return gpu;
}

bool has_type(const Gpu& gpu, DataType type) {
  return (gpu.products.*products_members[static_cast<std::size_t>(type)]).has_value();
}

const Products& products_of(const Gpu& gpu, DataType type) {
  const auto index = static_cast<std::size_t>(type);
  if (const auto& rates = gpu.products.*products_members[index]) return *rates;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < data_types.size(); ++i)
    if (gpu.products.*products_members[i]) names.push_back(data_types[i]);
  throw Error(fmt::format("the GPU {} has no {} products", in_quotes(gpu.name), data_types[index]))
      .allow(fmt::format("{} (other types belong under products in the GPU's file)",
                         fmt::join(names, ", ")));
}

std::vector<KeyRow> gpu_keys() { return rows_of(gpu_table); }

}  // namespace pipewright::config
