#include "sim/workload/kernel_table/fit_gpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/workload/kernel_table/fit_products.hpp"
#include "sim/workload/kernel_table/robust_fit.hpp"

namespace pipewright::workload {
namespace {

using config::DataType;
using config::Gpu;
using config::Products;

constexpr std::size_t min_fit_rows = 6;  // rows that a fit needs

double quantile(std::vector<double> sorted, double share) {
  std::ranges::sort(sorted);
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Returns the GPU without fused attention kernels other than `kernel`, so that fits and errors use
// this kernel however slow the fit makes it.
Gpu with_attention_kernel_alone(Gpu gpu, config::AttentionKernel kernel) {
  const config::AttentionRates rates = rates_of(gpu, kernel);
  gpu.attention = {.unfused = gpu.attention.unfused};
  mutable_rates_of(gpu, kernel) = rates;
  return gpu;
}

// Returns the rates of the only fused attention kernel of a GPU.
config::AttentionRates& fitted_attention(Gpu& gpu) {
  return mutable_rates_of(gpu, config::attention_kernel_of(gpu, {}));
}

// Fits the attention rate of the forward or of the backward pass. The direction with more rows is
// fitted first and also determines how efficiency grows with length (`fits_length`).
void fit_attention(const Rows& rows, Gpu& gpu, bool backward, bool fits_length) {
  config::AttentionRates& rates = fitted_attention(gpu);
  double& rate = backward ? rates.backward : rates.forward;
  std::vector<FitRow> terms;
  for (const MeasuredKernel* const row : rows) {
    Gpu at_half = gpu;  // with half of the peak rate
    fitted_attention(at_half) = {.forward = 0.5, .backward = 0.5, .half_length = 0};
    at_half.kernel_overhead = 0;
    const double ideal = 0.5 * predicted_seconds(*row, at_half);
    const double seconds = row->seconds - gpu.kernel_overhead;
    if (seconds <= 0) continue;
    if (fits_length)
      terms.push_back({{ideal, ideal / row->kernel.keys}, seconds});
    else
      terms.push_back({{ideal * (1 + rates.half_length / row->kernel.keys)}, seconds});
  }
  const std::vector<double> lower_bounds(fits_length ? 2 : 1, 0.0);
  const std::vector<double> x = fit_terms(terms, lower_bounds);
  rate = std::min(1.0, 1 / x[0]);
  if (fits_length) rates.half_length = x[1] / x[0];
}

void fit_memory(const Rows& rows, Gpu& gpu) {
  std::vector<FitRow> terms;
  for (const MeasuredKernel* const row : rows)
    terms.push_back({{row->kernel.bytes / gpu.memory_bandwidth, 1}, row->seconds});
  const std::vector<double> x = fit_terms(terms, std::array{1.0, 0.0});
  gpu.memory_efficiency = 1 / x[0];
  gpu.kernel_overhead = x[1];
}

struct RowGroups {
  Rows memory;
  std::array<Rows, 2> attention;  // forward, backward
  std::array<Rows, config::data_types.size()> products;
  std::array<Rows, config::data_types.size()> grouped;  // grouped products
};

RowGroups group_rows(std::span<const MeasuredKernel* const> rows) {
  RowGroups groups;
  for (const MeasuredKernel* const row : rows) {
    const auto type = static_cast<std::size_t>(row->kernel.type);
    if (row->kind == MeasuredKind::memory)
      groups.memory.push_back(row);
    else if (row->kind == MeasuredKind::attention)
      groups.attention.at(row->kernel.backward ? 1 : 0).push_back(row);
    else if (row->kernel.work == Kernel::Work::grouped)
      groups.grouped.at(type).push_back(row);
    else
      groups.products.at(type).push_back(row);
  }
  return groups;
}

bool is_cast(const MeasuredKernel* row) { return row->kind == MeasuredKind::cast; }

// Returns whether the time of casts can be fitted: from products that include a cast, or from
// enough rows of casts alone.
bool can_fit_casts(const Rows& rows, std::size_t min_rows) {
  const auto holds_cast = [](const MeasuredKernel* row) { return row->casts > 0; };
  const auto casts = static_cast<std::size_t>(std::ranges::count_if(rows, holds_cast));
  return casts >= min_rows ||
         static_cast<std::size_t>(std::ranges::count_if(rows, is_cast)) < casts;
}

// Returns the rows of a type's products and casts, but leaves out the casts if there are too few to
// fit their time.
Rows fittable_products(Rows rows, std::size_t min_rows) {
  if (!can_fit_casts(rows, min_rows)) std::erase_if(rows, is_cast);
  return rows;
}

// Fits the numbers of a GPU file to the rows of each group with enough rows. Memory comes first,
// because the other fits use its result.
Gpu fit_groups(const RowGroups& groups, Gpu gpu, std::size_t min_rows) {
  if (groups.memory.size() >= min_rows) fit_memory(groups.memory, gpu);
  for (std::size_t type = 0; type < groups.products.size(); ++type) {
    const Rows rows = fittable_products(groups.products[type], min_rows);
    if (rows.size() >= min_rows) fit_products(rows, gpu, static_cast<DataType>(type));
  }
  for (std::size_t type = 0; type < groups.grouped.size(); ++type)
    if (groups.grouped[type].size() >= min_rows)
      fit_grouped(groups.grouped[type], gpu, static_cast<DataType>(type));
  const bool backward_first = groups.attention[1].size() > groups.attention[0].size();
  bool fits_length = true;
  for (const bool backward : {backward_first, !backward_first}) {
    const Rows& rows = groups.attention.at(backward ? 1 : 0);
    if (rows.size() < min_rows) continue;
    fit_attention(rows, gpu, backward, fits_length);
    fits_length = false;
  }
  return gpu;
}

std::string share_text(double value) {
  return value < 0.001 ? fmt::format("{:.3g}", value) : fmt::format("{:.3f}", value);
}
std::string microseconds(double value) {
  return fmt::format("{:.3g} us", std::round(value * 1e8) / 1e2);
}

using FittedKeys = std::vector<std::pair<std::string, std::string>>;

void list_products(const Rows& rows, const Gpu& gpu, DataType type, FittedKeys& keys) {
  const Products& products = products_of(gpu, type);
  const std::string key = fmt::format("products.{}.", config::name_of(type));
  const auto holds_cast = [](const MeasuredKernel* row) { return row->casts > 0; };
  const bool fits_overhead = !std::ranges::all_of(rows, holds_cast);
  keys.emplace_back(key + "efficiency", share_text(products.efficiency));
  keys.emplace_back(key + "wave", microseconds(products.wave));
  if (fits_overhead) keys.emplace_back(key + "overhead", microseconds(products.overhead));
  if (!can_fit_casts(rows, min_fit_rows)) return;
  keys.emplace_back(key + "cast", fmt::format("{:.1f}", products.cast));
  keys.emplace_back(key + "cast_overhead", microseconds(products.cast_overhead));
}

void list_grouped(const Rows& rows, const Gpu& gpu, DataType type, FittedKeys& keys) {
  const config::GroupedProducts& grouped = products_of(gpu, type).grouped.value();
  const std::string key = fmt::format("products.{}.grouped.", config::name_of(type));
  keys.emplace_back(key + "efficiency", share_text(grouped.efficiency));
  keys.emplace_back(key + "wave", microseconds(grouped.wave));
  keys.emplace_back(key + "overhead", microseconds(grouped.overhead));
  if (std::ranges::any_of(rows, [](const MeasuredKernel* row) { return row->casts > 0; }))
    keys.emplace_back(key + "cast", fmt::format("{:.1f}", grouped.cast));
}

FittedKeys fitted_keys(const RowGroups& groups, const Gpu& gpu) {
  FittedKeys keys;
  for (std::size_t type = 0; type < groups.products.size(); ++type)
    if (const Rows rows = fittable_products(groups.products[type], min_fit_rows);
        rows.size() >= min_fit_rows)
      list_products(rows, gpu, static_cast<DataType>(type), keys);
  for (std::size_t type = 0; type < groups.grouped.size(); ++type)
    if (groups.grouped[type].size() >= min_fit_rows)
      list_grouped(groups.grouped[type], gpu, static_cast<DataType>(type), keys);
  const bool forward = groups.attention[0].size() >= min_fit_rows;
  const bool backward = groups.attention[1].size() >= min_fit_rows;
  const config::AttentionKernel kernel = config::attention_kernel_of(gpu, {});
  const config::AttentionRates& rates = rates_of(gpu, kernel);
  const std::string key =
      fmt::format("attention.{}.", base::name_of(config::attention_kernel_names, kernel));
  if (forward) keys.emplace_back(key + "forward", share_text(rates.forward));
  if (backward) keys.emplace_back(key + "backward", share_text(rates.backward));
  if (forward || backward)
    keys.emplace_back(key + "half_length", fmt::format("{:.0f}", rates.half_length));
  if (groups.memory.size() >= min_fit_rows) {
    keys.emplace_back("memory_efficiency", share_text(gpu.memory_efficiency));
    keys.emplace_back("kernel_overhead", microseconds(gpu.kernel_overhead));
  }
  return keys;
}

// Returns whether the rows are casts whose time is fitted together with the products of their type.
bool is_fitted_with_products(const Rows& rows, const RowGroups& groups) {
  const Rows& products = groups.products.at(static_cast<std::size_t>(rows.front()->kernel.type));
  return is_cast(rows.front()) && products.size() >= min_fit_rows &&
         can_fit_casts(products, min_fit_rows);
}

}  // namespace

KernelErrors errors_of(std::span<const double> errors) {
  if (errors.empty()) return {};
  std::vector<double> magnitudes;
  double sum = 0;
  for (const double error : errors) {
    magnitudes.push_back(std::abs(error));
    sum += std::abs(error);
  }
  return {.rows = errors.size(),
          .median = quantile(magnitudes, 0.5),
          .mean = sum / static_cast<double>(errors.size()),
          .p90 = quantile(magnitudes, 0.9),
          .largest = *std::ranges::max_element(magnitudes),
          .bias = quantile({errors.begin(), errors.end()}, 0.5)};
}

double error_of(const MeasuredKernel& row, const Gpu& gpu) {
  return predicted_seconds(row, gpu) / row.seconds - 1;
}

GpuFit fit_gpu(const KernelTable& table, const Gpu& base) {
  std::map<std::string, Rows> by_group;
  std::vector<std::string> order;
  for (const MeasuredKernel& row : table.rows) {
    if (!depends_on_gpu_file(row)) continue;
    if (row.kernel.work == Kernel::Work::product || row.kernel.work == Kernel::Work::grouped)
      products_of(base, row.kernel.type);
    Rows& group = by_group[group_of(row)];
    if (group.empty()) order.push_back(group_of(row));
    group.push_back(&row);
  }
  Rows all_rows;
  std::array<Rows, 2> halves;
  for (const auto& [name, rows] : by_group)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all_rows.push_back(rows[i]);
      halves.at(i % 2).push_back(rows[i]);
    }
  GpuFit fit;
  const RowGroups groups = group_rows(all_rows);
  const config::AttentionKernel kernel = config::attention_kernel_of(base, {});
  const Gpu alone = with_attention_kernel_alone(base, kernel);
  fit.gpu = fit_groups(groups, alone, min_fit_rows);
  fit.keys = fitted_keys(groups, fit.gpu);
  const std::array<Gpu, 2> by_half{fit_groups(group_rows(halves[0]), alone, min_fit_rows / 2),
                                   fit_groups(group_rows(halves[1]), alone, min_fit_rows / 2)};
  for (const std::string& name : order) {
    const Rows& rows = by_group[name];
    if (rows.size() < min_fit_rows && !is_fitted_with_products(rows, groups))
      fit.notes.push_back(fmt::format("{}: {} {}; a fit needs {}", name, rows.size(),
                                      rows.size() == 1 ? "row" : "rows", min_fit_rows));
    std::vector<double> fitted_errors;
    std::vector<double> left_out_errors;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      fitted_errors.push_back(error_of(*rows[i], fit.gpu));
      left_out_errors.push_back(error_of(*rows[i], by_half.at(1 - i % 2)));
    }
    fit.groups.push_back({name, errors_of(fitted_errors), errors_of(left_out_errors)});
  }
  const config::AttentionRates fitted = rates_of(fit.gpu, kernel);
  fit.gpu.attention = base.attention;
  if (!groups.attention[0].empty() || !groups.attention[1].empty())
    mutable_rates_of(fit.gpu, kernel) = fitted;
  if (std::ranges::any_of(table.rows,
                          [](const auto& row) { return row.kind == MeasuredKind::launch; }))
    fit.notes.emplace_back(
        "launch: the host's time per kernel of a layer, with the Python code and launches in "
        "between, is about 20 times one launch and belongs to a software stack (host.kernel); "
        "'pipewright profile --calibrate' determines it");
  return fit;
}

}  // namespace pipewright::workload
