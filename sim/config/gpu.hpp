#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/attention_kernel.hpp"
#include "sim/config/data_type.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Costs of grouped matrix products, which multiply several matrices in one kernel, as in a mixture
// of experts. The members mean the same as those of Products.
struct GroupedProducts {
  double efficiency = 0;
  double wave = 0;
  double overhead = 0;
  double cast = 0;

  bool operator==(const GroupedProducts&) const = default;
};

// Costs of matrix products in one data type; see sim/workload/compute/efficiency.hpp. Kernel tables
// (sim/workload/kernel_table/) time products together with casts, which layers run separately.
struct Products {
  double flops = 0;             // dense peak of the maker, FLOP/s
  std::optional<double> clock;  // sustained part; default: Clock::products
  double efficiency = 0.8;      // part of `flops` within tiles of the result
  double wave = 0.5e-6;         // start and end of each wave of tiles, seconds
  double overhead = 2e-6;       // overhead of each product, seconds
  double cast = 0;              // kernel tables: bytes moved per element that is cast to the type
  double cast_overhead = 0;     // kernel tables: overhead of each cast, seconds
  std::optional<GroupedProducts> grouped;  // default: as single products

  bool operator==(const Products&) const = default;
};

// Costs of matrix products for each data type that a GPU supports. Training needs bf16.
struct ProductTypes {
  std::optional<Products> bf16;
  std::optional<Products> fp16;
  std::optional<Products> fp8;
  std::optional<Products> fp8_row;  // default: as fp8
  std::optional<Products> fp8_block;
  std::optional<Products> mxfp8;
  std::optional<Products> nvfp4;
  std::optional<Products> mxfp4;
  std::optional<Products> tf32;
  std::optional<Products> fp32;

  bool operator==(const ProductTypes&) const = default;
};

// Efficiency of a fused attention kernel whose queries, keys and values have 8 bits, as a fraction
// of the peak of products of their type. Members mean the same as those of AttentionRates.
struct ScaledAttentionRates {
  double forward = 0;
  double backward = 0;
  double half_length = 0;
  std::optional<double> backward_half_length = {};  // default: half_length
  std::optional<double> uneven_forward = {};        // default: forward
  std::optional<double> uneven_backward = {};       // default: backward

  bool operator==(const ScaledAttentionRates&) const = default;
};

// Efficiency of a fused attention kernel, as a fraction of peak FLOP/s. The kernel reaches e * s /
// (s
// + half_length), where s is the number of keys.
struct AttentionRates {
  double forward = 0.5;    // e of the forward kernel
  double backward = 0.4;   // e of the backward kernel
  double half_length = 0;  // keys
  // e of the backward kernel for heads whose keys and values differ in size, as of latent attention
  // with keys of 192 and values of 128; default: `backward`. Libraries may have no fast kernel for
  // such heads.
  std::optional<double> uneven_backward = {};
  std::optional<ScaledAttentionRates> fp8 = {};  // one scale per tensor
  std::optional<ScaledAttentionRates> mxfp8 = {};

  // Returns the rates of a scaled type; nothing if the kernel does not take it.
  const std::optional<ScaledAttentionRates>& of(DataType type) const {
    return type == DataType::mxfp8 ? mxfp8 : fp8;
  }
  bool operator==(const AttentionRates&) const = default;
};

// Attention kernels that run on a GPU. If a file has no fused kernel, the default rates stand for
// all of them.
struct AttentionKernels {
  std::optional<AttentionRates> fa1;
  std::optional<AttentionRates> fa2;
  std::optional<AttentionRates> fa3;
  std::optional<AttentionRates> cudnn;
  std::optional<AttentionRates> cudnn_9_2;
  std::optional<AttentionRates> ck;
  std::optional<AttentionRates> aiter;
  std::optional<AttentionRates> aotriton;
  double unfused = 0.42;  // part of the peak of products that store the scores

  bool operator==(const AttentionKernels&) const = default;
};

// Clock in a long run relative to the clock at which single kernels were measured, by type of
// kernel. It is below 1 where the GPU reaches its power limit.
struct Clock {
  double products = 1;
  double attention = 1;
  double memory = 1;

  bool operator==(const Clock&) const = default;
};

// Power draw of a GPU in watts.
struct Power {
  double compute = 0;
  double idle = 0;

  bool operator==(const Power&) const = default;
};

// A number of a GPU that its file does not state, and that comes from the file of a measured GPU.
struct DerivedNumber {
  std::string key;  // dotted key in the GPU's file, "clock.products", or a map of keys, "attention"
  std::string source;  // name of the GPU whose file states the number

  bool operator==(const DerivedNumber&) const = default;
};

// Bytes/s of memory that a core of a host reads and writes in Adam's step: 19 to 23.5 GB/s of a
// Xeon beside an H100, measured with PyTorch's fused AdamW (28 bytes per parameter).
inline constexpr double default_core_bandwidth = 20e9;

// A type of GPU: data of its maker, and the fraction of the peak that single measured kernels
// reach.
struct Gpu {
  std::string name;
  std::string architecture = {};                  // "Hopper"; empty: not stated
  double flops = 0;                               // dense FLOP/s in bf16, or fp16 without bf16
  std::uint64_t memory = 0;                       // bytes
  std::optional<std::uint64_t> free_memory = {};  // free bytes on an empty GPU
  double memory_bandwidth = 0;                    // bytes/s
  double host_bandwidth = 0;                      // bytes/s to host memory, each way; 0: unknown
  std::uint32_t processors = 0;  // SMs or CUs, each of which computes a tile of a product
  ProductTypes products;
  AttentionKernels attention;
  double memory_efficiency = 0.75;     // part of `memory_bandwidth`
  double recurrence_efficiency = 0.2;  // part of `memory_bandwidth` in Mamba-2
  // Part of `memory_bandwidth` in gated delta nets; default: recurrence_efficiency.
  std::optional<double> delta_efficiency;
  double kernel_overhead = 5e-6;  // overhead of each kernel that is no product, seconds
  Clock clock;
  std::optional<Power> power;
  std::vector<std::string> assumed;    // keys whose values have no source
  std::vector<DerivedNumber> derived;  // numbers of another GPU; see derived_gpu.hpp
  // Factor by which the GPU's host takes longer than the times of a software stack say. The
  // platform file gives it; it is no key of a GPU file.
  double launch_factor = 1;
  // Bandwidth of the host's memory for this GPU, and what a core of the host reaches, in bytes/s.
  // The platform file gives them; they are no keys of a GPU file.
  double host_memory_bandwidth = 0;  // 0: unknown
  double host_core_bandwidth = default_core_bandwidth;

  std::uint64_t capacity() const { return free_memory.value_or(memory); }

  bool operator==(const Gpu&) const = default;
};

// Returns the GPU with only `processors` SMs, each of the same speed, and with its full memory
// bandwidth.
Gpu with_processors(Gpu gpu, std::uint32_t processors);

// Returns the GPU with `clock` for matrix products; clocks of single data types keep their ratio to
// it.
Gpu with_products_clock(Gpu gpu, double clock);
// Returns the GPU at the clock of single measured kernels, without the slowdown of long runs.
Gpu at_full_clock(Gpu gpu);

bool has_type(const Gpu& gpu, DataType type);
// Returns the costs of matrix products in a data type. Throws an Error that lists the supported
// types if the GPU does not support it.
const Products& products_of(const Gpu& gpu, DataType type);

// Returns the first of the preferred attention kernels that the GPU has and that takes this type;
// without a preference, the fastest fused kernel of its file. Throws an Error that lists the
// kernels of the GPU if it has none of the preferred ones.
AttentionKernel attention_kernel_of(const Gpu& gpu, std::span<const AttentionKernel> preference,
                                    DataType type = DataType::bf16);
// Returns the rates of a fused kernel; the default rates if the GPU's file lacks them.
const AttentionRates& rates_of(const Gpu& gpu, AttentionKernel kernel);
// Returns whether the GPU's file has rates of a fused kernel.
bool has_kernel(const Gpu& gpu, AttentionKernel kernel);
// Returns the rates of a fused kernel for changing them. Adds the default rates if there are none.
AttentionRates& mutable_rates_of(Gpu& gpu, AttentionKernel kernel);

// Reads a GPU from a map, from the file at a path, or from the library by its name.
Gpu read_gpu(const Field& field);
// Reads a GPU by its name in the library or by a path relative to the current folder. Throws Error.
Gpu find_gpu(const std::string& name_or_path);
// Returns the map of a GPU's keys, which the field contains or which is in the file that it names.
// Numbers that the file does not state, but derives from another GPU, are missing in it.
Value gpu_tree(const Field& field);
// Returns the map of a GPU's keys, as gpu_tree() does, with the key `name` added if it has none.
Value named_gpu_tree(const Field& field);

// Returns the keys of the GPU's file whose values are assumed or derived from another GPU.
std::vector<std::string> unsourced_keys(const Gpu& gpu);
// Returns the GPU's name, with the GPUs from which it has numbers: "h800 (derived from h100-sxm)".
std::string name_with_sources(const Gpu& gpu);

std::vector<KeyRow> gpu_keys();

}  // namespace pipewright::config
