#include "sim/workload/kernel_table/fit_products.hpp"

#include <algorithm>
#include <array>

#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/kernel_table/robust_fit.hpp"

namespace pipewright::workload {
namespace {

using config::DataType;
using config::Gpu;
using config::Products;

// Lower bound of a kernel's overhead in seconds. A table that only has large products does not
// determine the overhead, and the fit would give 0.
constexpr double min_overhead = 2e-6;

// Returns a GPU's settings for products of a data type, so that they can be changed. Throws
// config::Error if the GPU lacks the type.
Products& products_in(Gpu& gpu, DataType type) {
  return const_cast<Products&>(products_of(gpu, type));
}

// Returns the seconds of a kernel if only the settings `products` limit it: with unlimited memory
// bandwidth and at full clock.
double seconds_with(const Kernel& kernel, const Gpu& gpu, const Products& products) {
  Gpu ideal = config::at_full_clock(gpu);
  ideal.memory_bandwidth = 1e300;
  products_in(ideal, kernel.type) = products;
  return kernel_time(kernel, ideal).seconds;
}

// The two terms of a product's compute time, without memory time and overhead.
struct ComputeTerms {
  double seconds = 0;  // at the peak rate
  double waves = 0;
};

ComputeTerms compute_terms(const Kernel& kernel, const Gpu& gpu, double flops) {
  const auto time = [&](double rate, double wave) {
    const Products ideal{.flops = rate, .efficiency = 1, .wave = wave, .overhead = 0};
    return seconds_with(kernel, gpu, ideal);
  };
  return {time(flops, 0), time(1e300, 1)};
}

double table_memory_seconds(const Kernel& kernel, const Gpu& gpu) {
  return kernel.bytes / (gpu.memory_bandwidth * gpu.memory_efficiency);
}

bool is_memory_bound(const MeasuredKernel& row, const Gpu& gpu) {
  constexpr double threshold = 0.8;  // share of the measured time
  return table_memory_seconds(row.kernel, gpu) > threshold * row.seconds;
}

FitRow terms_of_product(const MeasuredKernel& row, const Gpu& gpu, const Products& products,
                        bool fits_overhead) {
  const bool is_cast = row.kind == MeasuredKind::cast;
  const ComputeTerms compute =
      is_cast ? ComputeTerms{} : compute_terms(row.kernel, gpu, products.flops);
  const double kernels = is_cast ? 0 : 1;
  return {.terms = {compute.seconds, compute.waves, fits_overhead ? kernels : 0,
                    row.casts / gpu.memory_bandwidth, row.casts > 0 ? 1.0 : 0.0},
          .seconds = row.seconds - (fits_overhead ? 0 : kernels * products.overhead)};
}

// Returns the terms of a grouped product for the fit. If it is bound by memory, only its overhead
// is fitted, since its time does not depend on compute.
FitRow terms_of_grouped(const MeasuredKernel& row, const Gpu& gpu, const Products& products) {
  FitRow terms{.terms = {0, 0, 0, row.casts / gpu.memory_bandwidth}, .seconds = row.seconds};
  const auto add = [&](const Kernel& kernel) {
    if (kernel.work != Kernel::Work::grouped) {
      terms.fixed += kernel_time(kernel, config::at_full_clock(gpu)).seconds;
      return;
    }
    const ComputeTerms compute = compute_terms(kernel, gpu, products.flops);
    const double memory = table_memory_seconds(kernel, gpu);
    terms.terms[2] += 1;
    if (compute.seconds / products.grouped->efficiency + compute.waves * products.grouped->wave <
        memory) {
      terms.fixed += memory;
      return;
    }
    terms.terms[0] += compute.seconds;
    terms.terms[1] += compute.waves;
  };
  add(row.kernel);
  std::ranges::for_each(row.extra_kernels, add);
  return terms;
}

}  // namespace

// Fits a data type's products and casts. If every product includes a cast, the overheads of the two
// cannot be separated, and the product's overhead keeps its value.
void fit_products(const Rows& rows, Gpu& gpu, DataType type) {
  constexpr std::size_t min_rows = 3;
  Products& products = products_in(gpu, type);
  const bool fits_overhead =
      std::ranges::any_of(rows, [](const auto* row) { return row->casts == 0; });
  std::vector<FitRow> terms;
  for (const MeasuredKernel* const row : rows)
    if (!is_memory_bound(*row, gpu))
      terms.push_back(terms_of_product(*row, gpu, products, fits_overhead));
  std::erase_if(terms, [](const FitRow& row) { return row.seconds <= 0; });
  if (terms.size() < min_rows) return;
  const std::array<double, 5> lower_bounds{1, 0, min_overhead, 0, 0};
  const std::vector<double> x = fit_terms(terms, lower_bounds);
  products.efficiency = 1 / x[0];
  products.wave = x[1];
  if (fits_overhead) products.overhead = x[2];
  if (std::ranges::none_of(rows, [](const auto* row) { return row->casts > 0; })) return;
  products.cast = x[3];
  products.cast_overhead = x[4];
}

// Fits a data type's grouped products. The fit is repeated, because the fitted numbers determine
// which products are bound by memory.
void fit_grouped(const Rows& rows, Gpu& gpu, DataType type) {
  constexpr int rounds = 8;
  Products& products = products_in(gpu, type);
  products.grouped = {.efficiency = products.efficiency,
                      .wave = products.wave,
                      .overhead = products.overhead,
                      .cast = 0};
  for (int round = 0; round < rounds; ++round) {
    std::vector<FitRow> terms;
    for (const MeasuredKernel* const row : rows)
      terms.push_back(terms_of_grouped(*row, gpu, products));
    const std::array<double, 4> lower_bounds{1, 0, min_overhead, 0};
    const std::vector<double> x = fit_terms(terms, lower_bounds);
    products.grouped = {.efficiency = 1 / x[0], .wave = x[1], .overhead = x[2], .cast = x[3]};
  }
}

}  // namespace pipewright::workload
