#include "sim/workload/kernel_table/fit_gpu.hpp"

#include <filesystem>
#include <map>

#include <catch2/catch.hpp>

#include "sim/workload/kernel_table/experts_row.hpp"
#include "sim/workload/kernel_table/robust_fit.hpp"
#include "support/reference.hpp"

using namespace pipewright;
using config::DataType;
using workload::Kernel;
using workload::MeasuredKernel;
using workload::MeasuredKind;

namespace {

MeasuredKernel product(DataType type, double rows, double columns, double inner, bool casts) {
  MeasuredKernel row;
  row.kernel = {.work = Kernel::Work::product,
                .type = type,
                .rows = rows,
                .columns = columns,
                .inner = inner};
  if (casts) row.casts = rows * inner;
  return row;
}

MeasuredKernel grouped(DataType type, double rows, double columns, double inner, double count) {
  MeasuredKernel row = product(type, rows, columns, inner, false);
  row.kind = MeasuredKind::grouped;
  row.kernel.work = Kernel::Work::grouped;
  row.kernel.count = count;
  row.kernel.bytes = count * 2 * (inner * (rows + columns) + rows * columns);
  return row;
}

MeasuredKernel attention(double tokens, bool backward) {
  MeasuredKernel row;
  row.kind = MeasuredKind::attention;
  row.kernel = {.work = Kernel::Work::attention,
                .flops = 1e4 * tokens * tokens,
                .keys = tokens,
                .backward = backward};
  return row;
}

// Returns a table of kernels whose times are exactly those that the GPU file predicts.
workload::KernelTable table_of(const config::Gpu& gpu) {
  workload::KernelTable table{"made up", {}};
  for (const double rows : {256.0, 1024.0, 4096.0, 16384.0})
    for (const double columns : {1024.0, 3072.0, 8192.0})
      for (const double inner : {1024.0, 5120.0, 16384.0}) {
        table.rows.push_back(product(DataType::bf16, rows, columns, inner, false));
        table.rows.push_back(product(DataType::fp8, rows, columns, inner, true));
      }
  for (const double rows : {64.0, 512.0, 2048.0})
    for (const double count : {2.0, 8.0, 32.0})
      for (const double inner : {1024.0, 4096.0, 7168.0})
        table.rows.push_back(grouped(DataType::bf16, rows, 4096, inner, count));
  for (const double tokens : {1024.0, 4096.0, 16384.0})
    for (const double ep : {1.0, 4.0, 32.0})
      for (const double hidden : {2048.0, 4096.0, 7168.0})
        table.rows.push_back(workload::experts_row({.type = DataType::fp8,
                                                    .tokens = tokens,
                                                    .hidden = hidden,
                                                    .inter = 2048,
                                                    .top_k = 8,
                                                    .experts = 128,
                                                    .ep = ep}));
  for (const double tokens : {1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0})
    for (const bool backward : {false, true}) table.rows.push_back(attention(tokens, backward));
  for (int power = 20; power < 30; ++power) {
    MeasuredKernel row;
    row.kind = MeasuredKind::memory;
    row.kernel.bytes = std::ldexp(1, power);
    table.rows.push_back(row);
  }
  for (MeasuredKernel& row : table.rows) row.seconds = predicted_seconds(row, gpu);
  return table;
}

config::Gpu measured_gpu() {
  config::Gpu gpu = config::find_gpu("h100-sxm");
  gpu.products.bf16->efficiency = 0.7;
  gpu.products.bf16->wave = 1.5e-6;
  gpu.products.bf16->overhead = 4e-6;
  gpu.products.fp8->efficiency = 0.6;
  gpu.products.fp8->wave = 0.9e-6;
  gpu.products.fp8->cast = 7;
  gpu.products.fp8->cast_overhead = 8e-6;
  gpu.products.bf16->grouped =
      config::GroupedProducts{.efficiency = 0.6, .wave = 2.5e-6, .overhead = 9e-6};
  gpu.products.fp8->grouped =
      config::GroupedProducts{.efficiency = 0.55, .wave = 3e-6, .overhead = 12e-6, .cast = 6};
  gpu.attention.cudnn = {.forward = 0.5, .backward = 0.4, .half_length = 900};
  gpu.memory_efficiency = 0.9;
  gpu.kernel_overhead = 3.5e-6;
  gpu.clock.products = 0.8;  // for long runs, not for kernels that run alone
  return gpu;
}

}  // namespace

TEST_CASE("a fit recovers the numbers from which a table of kernels was made", "[model]") {
  const config::Gpu gpu = measured_gpu();
  const workload::GpuFit fit = workload::fit_gpu(table_of(gpu), config::find_gpu("h100-sxm"));
  const config::Products& bf16 = *fit.gpu.products.bf16;
  CHECK(bf16.efficiency == Approx(0.7).epsilon(0.01));
  CHECK(bf16.wave == Approx(1.5e-6).epsilon(0.02));
  CHECK(bf16.overhead == Approx(4e-6).epsilon(0.02));
  const config::Products& fp8 = *fit.gpu.products.fp8;
  CHECK(fp8.efficiency == Approx(0.6).epsilon(0.01));
  CHECK(fp8.wave == Approx(0.9e-6).epsilon(0.02));
  CHECK(fp8.cast == Approx(7).epsilon(0.02));
  CHECK(fp8.cast_overhead == Approx(8e-6).epsilon(0.02));
  const config::GroupedProducts& grouped_bf16 = bf16.grouped.value();
  CHECK(grouped_bf16.efficiency == Approx(0.6).epsilon(0.01));
  CHECK(grouped_bf16.wave == Approx(2.5e-6).epsilon(0.02));
  CHECK(grouped_bf16.overhead == Approx(9e-6).epsilon(0.02));
  const config::GroupedProducts& grouped_fp8 = fp8.grouped.value();
  CHECK(grouped_fp8.efficiency == Approx(0.55).epsilon(0.01));
  CHECK(grouped_fp8.wave == Approx(3e-6).epsilon(0.03));
  CHECK(grouped_fp8.overhead == Approx(12e-6).epsilon(0.02));
  CHECK(grouped_fp8.cast == Approx(6).epsilon(0.02));
  const config::AttentionRates& attention = fit.gpu.attention.cudnn.value();
  CHECK(attention.forward == Approx(0.5).epsilon(0.01));
  CHECK(attention.backward == Approx(0.4).epsilon(0.01));
  CHECK(attention.half_length == Approx(900).epsilon(0.02));
  CHECK(fit.gpu.memory_efficiency == Approx(0.9).epsilon(0.01));
  CHECK(fit.gpu.kernel_overhead == Approx(3.5e-6).epsilon(0.02));
  for (const workload::FittedGroup& group : fit.groups) {
    INFO(group.name);
    CHECK(group.fitted.largest < 0.01);
    CHECK(group.left_out.median < 0.01);
  }
  CHECK(fit.notes.empty());
}

TEST_CASE("a fit stays with one attention kernel, also if it becomes slower than others",
          "[model]") {
  config::Gpu gpu = measured_gpu();
  gpu.attention = {};
  gpu.attention.cudnn = {.forward = 0.4, .backward = 0.33, .half_length = 900};
  const config::Gpu base = config::find_gpu("h100-sxm");
  REQUIRE(base.attention.cudnn_9_2->forward > 0.4);
  const workload::GpuFit fit = workload::fit_gpu(table_of(gpu), base);
  CHECK(fit.gpu.attention.cudnn->forward == Approx(0.4).epsilon(0.01));
  CHECK(fit.gpu.attention.cudnn->backward == Approx(0.33).epsilon(0.01));
  CHECK(fit.gpu.attention.cudnn_9_2 == base.attention.cudnn_9_2);
  CHECK(fit.gpu.attention.fa2 == base.attention.fa2);
  for (const workload::FittedGroup& group : fit.groups) {
    INFO(group.name);
    CHECK(group.fitted.largest < 0.01);
  }
}

TEST_CASE("outliers have little influence on a fit", "[model]") {
  workload::KernelTable table = table_of(measured_gpu());
  for (std::size_t i = 0; i < table.rows.size(); i += 9) table.rows[i].seconds *= 1.5;
  const workload::GpuFit fit = workload::fit_gpu(table, config::find_gpu("h100-sxm"));
  CHECK(fit.gpu.products.bf16->efficiency == Approx(0.7).epsilon(0.03));
  CHECK(fit.gpu.products.fp8->efficiency == Approx(0.6).epsilon(0.03));
}

TEST_CASE("numbers with too few rows in the table keep the value of the file", "[model]") {
  workload::KernelTable table = table_of(measured_gpu());
  std::erase_if(table.rows, [](const MeasuredKernel& row) {
    return row.kernel.work == Kernel::Work::attention && row.kernel.keys > 2048;
  });
  const config::Gpu base = config::find_gpu("h100-sxm");
  const workload::GpuFit fit = workload::fit_gpu(table, base);
  CHECK(fit.gpu.attention.cudnn->forward == base.attention.cudnn->forward);
  REQUIRE(fit.notes.size() == 2);
  CHECK(fit.notes[0] == "attention forward: 2 rows; a fit needs 6");
}

TEST_CASE("launches are not fitted, and a note explains why", "[model]") {
  workload::KernelTable table = table_of(measured_gpu());
  MeasuredKernel launch;
  launch.kind = MeasuredKind::launch;
  launch.seconds = 7.5e-6;
  table.rows.push_back(launch);
  const workload::GpuFit fit = workload::fit_gpu(table, config::find_gpu("h100-sxm"));
  for (const auto& [key, value] : fit.keys) CHECK(key != "launch");
  REQUIRE(fit.notes.size() == 1);
  CHECK_THAT(fit.notes[0], Catch::StartsWith("launch: the host's time per kernel of a layer") &&
                               Catch::Contains("belongs to a software stack (host.kernel)"));
}

TEST_CASE("too few casts are not fitted, while enough casts are", "[model]") {
  const auto cast = [] {
    MeasuredKernel row = product(DataType::fp8, 4096, 1, 4096, true);
    row.kind = MeasuredKind::cast;
    row.kernel = {.type = DataType::fp8};
    return row;
  };
  const config::Gpu gpu = measured_gpu();
  const config::Gpu base = config::find_gpu("h100-sxm");
  workload::KernelTable table;
  for (int i = 1; i < 9; ++i) {
    table.rows.push_back(product(DataType::fp8, 2048 * i, 4096, 4096, false));
    table.rows.push_back(product(DataType::fp8, 2048, 4096 * i, 1024, false));
  }
  for (int i = 0; i < 5; ++i) table.rows.push_back(cast());
  for (MeasuredKernel& row : table.rows) row.seconds = predicted_seconds(row, gpu);
  const auto has_cast = [](const workload::GpuFit& fit) {
    return std::ranges::any_of(fit.keys,
                               [](const auto& key) { return key.first == "products.fp8.cast"; });
  };
  const workload::GpuFit few_casts = workload::fit_gpu(table, base);
  CHECK_FALSE(has_cast(few_casts));
  CHECK(few_casts.gpu.products.fp8->cast == base.products.fp8->cast);
  CHECK(few_casts.gpu.products.fp8->efficiency == Approx(0.6).epsilon(0.02));
  REQUIRE(few_casts.notes.size() == 1);
  CHECK(few_casts.notes[0] == "cast fp8: 5 rows; a fit needs 6");

  table.rows.push_back(cast());
  table.rows.back().seconds = table.rows[table.rows.size() - 2].seconds;
  const workload::GpuFit enough = workload::fit_gpu(table, base);
  CHECK(has_cast(enough));
  CHECK(enough.notes.empty());

  workload::KernelTable single_row;
  single_row.rows.push_back(cast());
  single_row.rows.back().seconds = 1e-5;
  CHECK(workload::fit_gpu(single_row, base).notes.at(0) == "cast fp8: 1 row; a fit needs 6");
}

TEST_CASE("a data type that the GPU lacks cannot be fitted", "[model]") {
  workload::KernelTable table;
  for (int i = 1; i < 9; ++i) {
    table.rows.push_back(product(DataType::nvfp4, 1024 * i, 1024, 1024, true));
    table.rows.back().seconds = 1e-4;
  }
  CHECK_THROWS_WITH(workload::fit_gpu(table, config::find_gpu("h100-sxm")),
                    Catch::Contains("has no nvfp4 products"));
}

TEST_CASE("coefficients stay within their bounds", "[model]") {
  // All times but the last agree with 2 a + 3 b; the last one would need a negative coefficient of
  // b.
  const std::vector<workload::FitRow> rows{{{1, 0}, 2}, {{0, 1}, 3}, {{1, 1}, 5}, {{2, 1}, 7}};
  const std::vector<double> x = workload::fit_terms(rows, std::vector<double>{0, 0});
  CHECK(x[0] == Approx(2));
  CHECK(x[1] == Approx(3));
  const std::vector<workload::FitRow> falling{{{1, 0}, 2}, {{1, 1}, 1}};
  CHECK(workload::fit_terms(falling, std::vector<double>{0, 0.5})[1] == Approx(0.5));
}

TEST_CASE("the fixed part of a row's time is subtracted before the fit", "[model]") {
  const std::vector<workload::FitRow> rows{{{1}, 5, 3}, {{2}, 5, 1}, {{3}, 6, 0}};
  CHECK(workload::fit_terms(rows, std::vector<double>{0})[0] == Approx(2));
}

// The table has 936 forward passes through a layer's experts on one of 1 to 256 H100, measured with
// TensorRT-LLM. A tenth of the rows in bf16 and fp8 is off by a third or more: the same experts are
// three times slower on one number of GPUs than on its neighbours, or each token has 22 experts.
// Experts of Nemotron-3 are not gated.
TEST_CASE("predicted products of experts on H100 agree with measurements", "[model]") {
  const std::filesystem::path file =
      tests::reference_folder() / "2026" / "aic_moe_grouped_gemm_imbalance_h100.csv";
  if (!std::filesystem::exists(file)) {
    WARN("skipped: " << file.string() << " is not there");
    return;
  }
  const std::map<std::string, DataType> types{
      {"bfloat16", DataType::bf16}, {"fp8", DataType::fp8}, {"fp8_block", DataType::fp8_block}};
  workload::KernelTable table{file.string(), {}};
  for (const auto& row : tests::read_csv(file)) {
    const auto type = types.find(row.at("dtype"));
    if (type == types.end()) continue;
    const auto number = [&](const char* name) { return std::stod(row.at(name)); };
    table.rows.push_back(
        workload::experts_row({.type = type->second,
                               .tokens = number("tokens"),
                               .hidden = number("hidden"),
                               .inter = number("inter"),
                               .top_k = number("topk"),
                               .experts = number("experts"),
                               .ep = number("moe_ep"),
                               .gated = number("topk") != 22 && number("hidden") != 2688,
                               .seconds = 1e-3 * number("balanced_ms")}));
  }
  CHECK(table.rows.size() == 936);
  const config::Gpu gpu = config::find_gpu("h100-sxm");
  std::map<std::string, std::vector<double>> errors;
  for (const MeasuredKernel& row : table.rows) errors[group_of(row)].push_back(error_of(row, gpu));
  const std::map<std::string, double> limits{
      {"experts bf16", 0.055}, {"experts fp8", 0.05}, {"experts fp8-block", 0.045}};
  for (const auto& [group, limit] : limits) {
    INFO(group);
    CHECK(workload::errors_of(errors[group]).median < limit);
    CHECK(std::abs(workload::errors_of(errors[group]).bias) < 0.01);
  }
  const workload::GpuFit fit = workload::fit_gpu(table, gpu);
  REQUIRE(fit.groups.size() == 3);
  for (const workload::FittedGroup& group : fit.groups) {
    INFO(group.name);
    CHECK(group.left_out.median < limits.at(group.name));
  }
  // Fitting the table again gives the values in the shipped GPU file.
  CHECK(fit.gpu.products.bf16->grouped->efficiency ==
        Approx(gpu.products.bf16->grouped->efficiency).epsilon(0.01));
  CHECK(fit.gpu.products.fp8_block->grouped->wave ==
        Approx(gpu.products.fp8_block->grouped->wave).epsilon(0.01));
}

// Compares the files of platforms/gpus with 4,114 products that were measured on seven GPUs. The
// limit is 5 %, and more where the measurements of a type scatter: neighbouring shapes differ by 10
// % and more, and a shape that is slow on one of two GPUs of a kind is fast on the other.
TEST_CASE("predicted products of GPU files agree with measurements", "[model]") {
  const std::filesystem::path file =
      tests::reference_folder() / "2026" / "aic_gemm_training_shapes.csv";
  if (!std::filesystem::exists(file)) {
    WARN("skipped: " << file.string() << " is not there");
    return;
  }
  const std::map<std::string, std::string> names{
      {"a100_sxm", "a100-80gb"}, {"h100_sxm", "h100-sxm"}, {"h200_sxm", "h200"},
      {"b200_sxm", "b200"},      {"b300_sxm", "b300"},     {"gb200", "gb200"},
      {"gb300", "gb300"}};
  const std::map<std::string, double> scattered{{"b200 product bf16", 0.065},
                                                {"b200 product fp8", 0.06},
                                                {"b300 product bf16", 0.075},
                                                {"b300 product fp8", 0.06},
                                                {"gb200 product bf16", 0.07}};
  std::size_t rows = 0;
  for (const auto& [system, name] : names) {
    const config::Gpu gpu = config::find_gpu(name);
    std::map<std::string, std::vector<double>> errors;
    for (const MeasuredKernel& row : workload::read_kernel_table(file, system).rows)
      errors[name + " " + group_of(row)].push_back(error_of(row, gpu));
    for (const auto& [group, group_errors] : errors) {
      const auto limit = scattered.find(group);
      INFO(group);
      CHECK(workload::errors_of(group_errors).median <
            (limit == scattered.end() ? 0.05 : limit->second));
      rows += group_errors.size();
    }
  }
  CHECK(rows == 4114);
}
