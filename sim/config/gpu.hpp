#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/data_type.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Products of several matrices in one kernel, as of experts.
struct GroupedProducts {
  double efficiency = 0;  // as of single products, as are
  double wave = 0;
  double overhead = 0;
  double cast = 0;  // bytes for each element that is cast within what tables of kernels time

  bool operator==(const GroupedProducts&) const = default;
};

// Matrix products of one data type. How sim/workload/compute/efficiency.hpp uses the numbers is
// said there.
struct Products {
  double flops = 0;             // FLOP/s, dense, as the maker says
  std::optional<double> clock;  // sustained; else the GPU's of products
  double efficiency = 0.8;      // of `flops`, within tiles of the result
  double wave = 0.5e-6;         // seconds: start and end of each wave of tiles
  double overhead = 2e-6;       // seconds: of each product
  double cast = 0;  // bytes that a kernel moves for each element that it casts to the type,
  double cast_overhead = 0;  // and seconds that it takes besides: of tables of kernels, see
                             // sim/workload/kernel_table/, as layers have kernels for their casts
  std::optional<GroupedProducts> grouped;  // else as single ones

  bool operator==(const Products&) const = default;
};

// What a GPU multiplies; without bf16 nothing is trained.
struct ProductTypes {
  std::optional<Products> bf16;
  std::optional<Products> fp16;
  std::optional<Products> fp8;
  std::optional<Products> fp8_block;
  std::optional<Products> mxfp8;
  std::optional<Products> nvfp4;
  std::optional<Products> tf32;

  bool operator==(const ProductTypes&) const = default;
};

// Attention's kernels. A fused one reaches e s / (s + half_length) of the peak, of s keys.
struct AttentionRates {
  double forward = 0.5;        // e of the forward kernel
  double backward = 0.4;       // and of the backward one
  double half_length = 0;      // keys
  double materialized = 0.42;  // of the peak, of products one by one where scores are kept

  bool operator==(const AttentionRates&) const = default;
};

// What a long run keeps of the clock at which kernels alone are measured, by what they do: less
// where the power limit is reached.
struct Clock {
  double products = 1;
  double attention = 1;
  double memory = 1;

  bool operator==(const Clock&) const = default;
};

// Watts, by what a GPU does.
struct Power {
  double compute = 0;
  double idle = 0;

  bool operator==(const Power&) const = default;
};

// One type of GPU: what its maker says, and what of it kernels reach that were measured alone.
struct Gpu {
  std::string name;
  double flops = 0;          // FLOP/s, dense, bf16 (fp16 where there is no bf16)
  std::uint64_t memory = 0;  // bytes
  std::optional<std::uint64_t> free_memory = {};  // bytes that CUDA reports free on an empty one
  double memory_bandwidth = 0;                    // bytes/s
  double host_bandwidth = 0;     // bytes/s to its host's memory, and back; 0: unknown
  std::uint32_t processors = 0;  // that compute a tile of a matrix product each: SMs, CUs
  ProductTypes products;
  AttentionRates attention;
  double memory_efficiency = 0.75;     // of `memory_bandwidth`
  double recurrence_efficiency = 0.2;  // of it, what kernels of Mamba-2 and gated delta nets reach
  double kernel_overhead = 5e-6;       // seconds: of each kernel that is no product
  Clock clock;
  double launch = 0;              // seconds of the host for each kernel
  double pass_overhead = 1.2e-3;  // seconds: of each pass of a microbatch through a stage
  std::optional<Power> power;
  std::vector<std::string> assumed;  // keys whose values no source has

  std::uint64_t capacity() const { return free_memory.value_or(memory); }

  bool operator==(const Gpu&) const = default;
};

// The same with fewer processors, each of which is as fast, and all of its memory's bandwidth.
Gpu with_processors(Gpu gpu, std::uint32_t processors);

// The same with that clock of products, to which the types' own clocks keep their proportion.
Gpu with_products_clock(Gpu gpu, double clock);
// The same at the clock at which kernels are measured alone.
Gpu at_full_clock(Gpu gpu);

bool has_type(const Gpu& gpu, DataType type);
// Throws Error where the GPU has no such type, naming those that it has.
const Products& products_of(const Gpu& gpu, DataType type);

// A map, a path, or the name of a file in the library of GPUs.
Gpu read_gpu(const Field& field);
// Of a name of the library, or a path from the folder where the program runs. Throws Error.
Gpu find_gpu(const std::string& name_or_path);
// The map that such a field is or names, as it was written.
Value gpu_tree(const Field& field);
// The same with a name where it says none.
Value named_gpu_tree(const Field& field);

std::vector<KeyRow> gpu_keys();

}  // namespace pipewright::config
