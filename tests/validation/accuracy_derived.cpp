#include "validation/accuracy_derived.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <stdlib.h>

#include "analysis/report/statistics.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/config/nearest_gpu.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"

// GPUs as if nobody had measured them: the numbers of their data sheets, and all others derived
// from another generation.
namespace pipewright::accuracy {
namespace {

constexpr double no_bar = std::numeric_limits<double>::infinity();

struct Pair {
  const char* gpu;
  const char* source;
  double bar;  // largest median error that is accepted, in %
};
constexpr std::array pairs{
    Pair{"h100-sxm", "a100-80gb", 10}, Pair{"h200", "h100-sxm", 10}, Pair{"b200", "h100-sxm", 10},
    Pair{"gb200", "h100-sxm", no_bar}, Pair{"b300", "b200", no_bar}, Pair{"gb300", "b200", 10},
    Pair{"mi355x", "mi300x", no_bar},
};

// Returns the GPU's file without all that its data sheet does not state.
config::Value data_sheet_of(const std::string& gpu) {
  config::Value tree = config::read_yaml_file(config::library_file("gpus", gpu, ".yaml").string(),
                                              config::gpu_document);
  constexpr std::array<std::string_view, 7> keys{
      "flops", "memory", "memory_bandwidth", "host_bandwidth", "processors", "power", "products"};
  std::erase_if(tree.entries, [&](const config::Entry& entry) {
    return std::ranges::find(keys, entry.key) == keys.end();
  });
  if (config::Value* const products = config::find(tree, "products")) {
    for (config::Entry& type : products->entries)
      std::erase_if(type.value.entries,
                    [](const config::Entry& entry) { return entry.key != "flops"; });
    std::erase_if(products->entries,
                  [](const config::Entry& type) { return type.value.entries.empty(); });
    if (products->entries.empty())
      std::erase_if(tree.entries,
                    [](const config::Entry& entry) { return entry.key == "products"; });
  }
  return tree;
}

// A folder of the library in which a GPU has the numbers of its data sheet and those of `source`,
// or ideal ones with "none". The program finds the folder as long as the object lives.
class OtherLibrary {
 public:
  OtherLibrary(const std::string& gpu, const std::string& source) {
    const std::filesystem::path anchor = temporary_file("derived", [] { return std::string(); });
    const auto folder = anchor.parent_path() / fmt::format("{}-like-{}", gpu, source);
    std::filesystem::create_directories(folder / "gpus");
    config::Value tree = data_sheet_of(gpu);
    config::set_value(tree, "like", config::make_text(source, {}));
    trace::write_file(folder / "gpus" / (gpu + ".yaml"), config::to_yaml(tree));
    if (const char* const before = std::getenv(variable)) before_ = before;
    const std::string after = before_ ? folder.string() + ':' + *before_ : folder.string();
    ::setenv(variable, after.c_str(), 1);
  }
  ~OtherLibrary() {
    if (before_)
      ::setenv(variable, before_->c_str(), 1);
    else
      ::unsetenv(variable);
  }
  OtherLibrary(const OtherLibrary&) = delete;
  OtherLibrary& operator=(const OtherLibrary&) = delete;

 private:
  static constexpr const char* variable = "PIPEWRIGHT_PLATFORMS";
  std::optional<std::string> before_;
};

struct Errors {
  double median = 0, mean = 0;  // of absolute values, in %
  double bias = 0;
};

// Errors of times: a throughput counts as the time of its sample.
Errors errors_in(const std::vector<Table>& tables) {
  std::vector<double> sizes;
  double sum = 0;
  for (const Table& table : tables)
    for (const Row& row : table.rows) {
      if (std::isnan(row.predicted)) continue;
      const double error = 100 * (table.unit == "s" ? row.predicted / row.measured - 1
                                                    : row.measured / row.predicted - 1);
      sizes.push_back(std::abs(error));
      sum += error;
    }
  if (sizes.empty()) return {};
  double total = 0;
  for (const double size : sizes) total += size;
  const auto count = static_cast<double>(sizes.size());
  return {analysis::quantile(sizes, 0.5), total / count, sum / count};
}

// Rows of whole iterations on a GPU, as the tables have them.
std::vector<Table> rows_on(const std::string& gpu, const std::vector<Table>& tables) {
  std::vector<Table> found;
  for (const Table& table : tables) {
    if (table.unit != "s" && table.unit != "samples/s") continue;
    Table part{.title = table.title, .unit = table.unit};
    std::ranges::copy_if(table.rows, std::back_inserter(part.rows), [&](const Row& row) {
      return row.kind.run.gpu == gpu && row.against.empty() && !row.scenario.empty() &&
             !std::isnan(row.predicted);
    });
    if (!part.rows.empty()) found.push_back(std::move(part));
  }
  return found;
}

// Jobs for a GPU without published runs. What its file predicts stands for what is measured.
std::vector<Table> jobs_on(const std::string& node) {
  struct Job {
    const char* model;
    std::uint32_t nodes;
    const char* parallel;
    std::uint32_t batch, sequence;
    const char* precision;
  };
  constexpr std::array jobs{
      Job{"llama-3-8b", 1, "dp: 8, zero: 1", 128, 8192, "bf16"},
      Job{"llama-3-8b", 1, "dp: 8, zero: 1", 128, 8192, "fp8"},
      Job{"llama-3-8b", 2, "cp: 4, dp: 4, zero: 1", 16, 65536, "bf16"},
      Job{"llama-3-70b", 8, "tp: 4, sp: true, pp: 4, dp: 4, zero: 1", 128, 8192, "bf16"},
      Job{"llama-3-70b", 8, "tp: 4, sp: true, pp: 4, dp: 4, zero: 1", 128, 8192, "fp8"},
      Job{"qwen3-32b", 4, "tp: 8, sp: true, dp: 4, zero: 1", 64, 4096, "bf16"},
      Job{"mixtral-8x7b", 4, "ep: 8, pp: 4, dp: 8, zero: 1", 128, 4096, "bf16"},
      Job{"qwen3-30b-a3b", 2, "ep: 8, pp: 2, dp: 8, zero: 1", 128, 4096, "fp8"},
  };
  Table table{.title = "fixed jobs", .unit = "s"};
  for (const Job& job : jobs)
    table.rows.push_back(
        {.name = fmt::format("{}, {}", job.model, job.precision),
         .scenario = fmt::format("model: {}\ncluster: {}\nglobal_batch: {}\nparallel: {{{}}}\n"
                                 "schedule: 1f1b\nsymmetric: true\n"
                                 "training: {{sequence: {}, precision: {}}}\n",
                                 job.model, cluster_of(node, job.nodes), job.batch, job.parallel,
                                 job.sequence, job.precision),
         .predict = makespan,
         .measured = 1});
  std::vector<Table> tables{std::move(table)};
  predict_only(tables);
  for (Row& row : tables.front().rows) row.measured = row.predicted;
  return tables;
}

// Returns the tables with what they predict if a GPU has the numbers of its data sheet and those of
// `source`. A row that cannot be predicted has no number.
std::vector<Table> predicted_with(const Pair& pair, const std::string& source,
                                  std::vector<Table> tables) {
  const OtherLibrary library(pair.gpu, source);
  for (Table& table : tables) {
    table.title = fmt::format("{} derived from {}: {}", pair.gpu, source, table.title);
    for (Row& row : table.rows) row.predicted = std::numeric_limits<double>::quiet_NaN();
  }
  predict_only(tables, true);
  return tables;
}

// Removes rows from both that cannot be predicted in `derived`, and tables without rows.
void keep_predicted(std::vector<Table>& tables, std::vector<Table>& derived) {
  for (std::size_t i = 0; i < tables.size(); ++i)
    for (std::size_t row = derived[i].rows.size(); row-- > 0;) {
      if (!std::isnan(derived[i].rows[row].predicted)) continue;
      derived[i].rows.erase(derived[i].rows.begin() + static_cast<std::ptrdiff_t>(row));
      tables[i].rows.erase(tables[i].rows.begin() + static_cast<std::ptrdiff_t>(row));
    }
  const auto is_empty = [](const Table& table) { return table.rows.empty(); };
  std::erase_if(tables, is_empty);
  std::erase_if(derived, is_empty);
}

}  // namespace

bool print_derived(const std::vector<Table>& tables) {
  std::string overview =
      "| GPU | derived from | rows | its own file: median | derived: median | mean | bias | data "
      "sheet alone: median | bias |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n";
  int missed = 0;
  for (const Pair& pair : pairs) {
    std::vector<Table> rows = rows_on(pair.gpu, tables);
    const bool is_measured = !rows.empty();
    if (std::string_view(pair.gpu) == "h200" && !is_measured) rows = jobs_on("dgx-h200");
    std::vector<Table> derived_rows = predicted_with(pair, pair.source, rows);
    keep_predicted(rows, derived_rows);
    std::size_t count = 0;
    for (const Table& table : derived_rows) {
      print(table);
      count += table.rows.size();
    }
    if (count == 0) continue;
    const Errors own = errors_in(rows);
    const Errors derived = errors_in(derived_rows);
    const Errors ideal = errors_in(predicted_with(pair, "none", rows));
    overview += fmt::format(
        "| {} | {} | {}{} | {} | {:.1f} % | {:.1f} % | {:+.1f} % | {:.1f} % | {:+.1f} % |\n",
        pair.gpu, pair.source, count, is_measured ? "" : " jobs, not measured",
        is_measured ? fmt::format("{:.1f} %", own.median) : "-", derived.median, derived.mean,
        derived.bias, ideal.median, ideal.bias);
    if (derived.median > pair.bar) {
      ++missed;
      fmt::print("{} derived from {}: median {:.2f} of {} allowed: MISSED\n", pair.gpu, pair.source,
                 derived.median, pair.bar);
    }
  }
  fmt::print("{}\n", overview);
  return missed == 0;
}

}  // namespace pipewright::accuracy
