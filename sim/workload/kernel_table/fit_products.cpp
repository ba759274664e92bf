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

// No kernel starts and ends in less. Tables of large products alone cannot tell, and say 0.
constexpr double least_overhead = 2e-6;

// Those of a GPU that may be changed. Throws Error where it lacks the type.
Products& products_in(Gpu& gpu, DataType type) {
  return const_cast<Products&>(products_of(gpu, type));
}

// What a kernel takes on a GPU of which all but some numbers are ideal.
double seconds_with(const Kernel& kernel, const Gpu& gpu, const Products& products) {
  Gpu ideal = config::at_full_clock(gpu);
  ideal.memory_bandwidth = 1e300;
  products_in(ideal, kernel.type) = products;
  return kernel_time(kernel, ideal).seconds;
}

// What multiplying takes, and how many waves it is, where nothing else takes time.
struct Multiplying {
  double seconds = 0;  // at the peak
  double waves = 0;
};

Multiplying multiplying(const Kernel& kernel, const Gpu& gpu, double flops) {
  const auto time = [&](double rate, double wave) {
    const Products ideal{.flops = rate, .efficiency = 1, .wave = wave, .overhead = 0};
    return seconds_with(kernel, gpu, ideal);
  };
  return {time(flops, 0), time(1e300, 1)};
}

double memory_seconds(const Kernel& kernel, const Gpu& gpu) {
  return kernel.bytes / (gpu.memory_bandwidth * gpu.memory_efficiency);
}

bool waits_for_memory(const MeasuredKernel& row, const Gpu& gpu) {
  constexpr double most = 0.8;  // of its time
  return memory_seconds(row.kernel, gpu) > most * row.seconds;
}

FitRow terms_of_product(const MeasuredKernel& row, const Gpu& gpu, const Products& known,
                        bool fits_overhead) {
  const bool is_cast = row.kind == Measured::cast;
  const Multiplying own = is_cast ? Multiplying{} : multiplying(row.kernel, gpu, known.flops);
  const double kernels = is_cast ? 0 : 1;
  return {.terms = {own.seconds, own.waves, fits_overhead ? kernels : 0,
                    row.casts / gpu.memory_bandwidth, row.casts > 0 ? 1.0 : 0.0},
          .seconds = row.seconds - (fits_overhead ? 0 : kernels * known.overhead)};
}

// A product that waits for memory says nothing of multiplying, but takes its overhead.
FitRow terms_of_grouped(const MeasuredKernel& row, const Gpu& gpu, const Products& products) {
  FitRow terms{.terms = {0, 0, 0, row.casts / gpu.memory_bandwidth}, .seconds = row.seconds};
  const auto add = [&](const Kernel& kernel) {
    if (kernel.work != Kernel::Work::grouped) {
      terms.known += kernel_time(kernel, config::at_full_clock(gpu)).seconds;
      return;
    }
    const Multiplying own = multiplying(kernel, gpu, products.flops);
    const double memory = memory_seconds(kernel, gpu);
    terms.terms[2] += 1;
    if (own.seconds / products.grouped->efficiency + own.waves * products.grouped->wave < memory) {
      terms.known += memory;
      return;
    }
    terms.terms[0] += own.seconds;
    terms.terms[1] += own.waves;
  };
  add(row.kernel);
  std::ranges::for_each(row.others, add);
  return terms;
}

}  // namespace

// Where every product holds its cast, the start of the two cannot be told apart, and the product's
// stays as it is.
void fit_products(const Rows& rows, Gpu& gpu, DataType type) {
  constexpr std::size_t fewest = 3;
  Products& products = products_in(gpu, type);
  const bool fits_overhead =
      std::ranges::any_of(rows, [](const auto* row) { return row->casts == 0; });
  std::vector<FitRow> terms;
  for (const MeasuredKernel* const row : rows)
    if (!waits_for_memory(*row, gpu))
      terms.push_back(terms_of_product(*row, gpu, products, fits_overhead));
  std::erase_if(terms, [](const FitRow& row) { return row.seconds <= 0; });
  if (terms.size() < fewest) return;
  const std::array<double, 5> least{1, 0, least_overhead, 0, 0};
  const std::vector<double> x = fit_terms(terms, least);
  products.efficiency = 1 / x[0];
  products.wave = x[1];
  if (fits_overhead) products.overhead = x[2];
  if (std::ranges::none_of(rows, [](const auto* row) { return row->casts > 0; })) return;
  products.cast = x[3];
  products.cast_overhead = x[4];
}

// Again and again, as what waits for memory depends on what is found.
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
    const std::array<double, 4> least{1, 0, least_overhead, 0};
    const std::vector<double> x = fit_terms(terms, least);
    products.grouped = {.efficiency = 1 / x[0], .wave = x[1], .overhead = x[2], .cast = x[3]};
  }
}

}  // namespace pipewright::workload
