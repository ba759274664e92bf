#include "validation/accuracy_published.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "support/reference.hpp"

namespace pipewright::accuracy {
namespace {

// A kind of node and, if it is another, its GPU, by the start of gpu_type.
struct Hardware {
  std::string_view begins, node, gpu;
};
constexpr std::array<Hardware, 10> hardware{{{"H100-96GB", "dgx-h100", "h100-sxm-96gb"},
                                             {"H100", "dgx-h100", ""},
                                             {"A100-80GB", "dgx-a100", ""},
                                             {"A100-40GB", "a100-roce", ""},
                                             {"B200", "dgx-b200", ""},
                                             {"GB200", "gb200-nvl72", ""},
                                             {"GB300", "gb300-nvl72", ""},
                                             {"MI300X", "mi300x-roce", ""},
                                             {"MI350X", "mi350x-roce", ""},
                                             {"MI355X", "mi355x-roce", ""}}};

Hardware hardware_of(const Cells& row) {
  const std::string& type = row.at("gpu_type");
  const auto found = std::ranges::find_if(
      hardware, [&](const Hardware& each) { return type.starts_with(each.begins); });
  return found == hardware.end() ? Hardware{} : *found;
}

double number_or_nan(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? number : std::numeric_limits<double>::quiet_NaN();
}

// Returns the number that follows a word of a cell: 8 for "over 8 ranks" and "over ".
std::optional<std::uint32_t> number_after(const Cells& row, const std::string& column,
                                          const std::string& word) {
  const std::string& text = row.at(column);
  const auto at = text.find(word);
  if (at == std::string::npos) return std::nullopt;
  const char* const begin = text.data() + at + word.size();
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

// A cell "as above" repeats the shape of the row before.
std::vector<Cells> rows_of(const std::filesystem::path& file) {
  std::vector<Cells> rows = tests::read_csv(file);
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i].at("shape") == "as above") rows[i]["shape"] = rows[i - 1].at("shape");
  return rows;
}

double measured_of(const Source& source, const Cells& row) {
  if (source.peak_memory) return number_or_nan(row.at("memory_gb"));
  return source.seconds ? source.seconds(row) : seconds_of(row);
}

std::string why_not(const Source& source, const Cells& row) {
  const std::string why = source.hindrance ? source.hindrance(row) : "";
  if (!why.empty()) return why;
  if (precision_of(row).empty()) return "of a precision that no recipe is";
  if (row.at("step_s") == "OOM") return "of runs that did not fit into memory";
  if (!std::isnan(measured_of(source, row))) return "";
  return source.peak_memory ? "without memory" : "without a time";
}

Row row_of(const Source& source, const Cells& row) {
  const std::string remark = source.remark ? source.remark(row) : "";
  return {.name = name_of(row) + (remark.empty() ? "" : ", " + remark),
          .scenario = source.scenario(row),
          .predict = source.peak_memory ? source.peak_memory : makespan,
          .measured = measured_of(source, row)};
}

bool repeats(const Row& row, const Row& other) {
  return row.measured == other.measured && row.scenario == other.scenario && row.name == other.name;
}

}  // namespace

bool has(const Cells& row, const std::string& column, std::string_view word) {
  return row.at(column).find(word) != std::string::npos;
}

std::uint32_t count_of(const Cells& row, const std::string& column) {
  const std::string& text = row.at(column);
  return text.empty() ? 1 : static_cast<std::uint32_t>(std::stoul(text));
}

std::string node_of(const Cells& row) { return std::string(hardware_of(row).node); }

std::string gpu_of(const Cells& row) { return std::string(hardware_of(row).gpu); }

std::string precision_of(const Cells& row) {
  std::string text = row.at("precision");
  if (text == "fp8 (a scale a row)") return "fp8-row";
  // Of runs that have other products in bf16.
  if (const auto experts = text.find(" of experts' products"); experts != std::string::npos)
    return fmt::format("{{experts: {}}}", text.substr(0, experts));
  for (const char* const recipe : {"bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4"})
    if (text == recipe) return text;
  return "";
}

std::string recompute_of(const Cells& row) {
  const std::string& text = row.at("recompute");
  if (text.starts_with("full")) return "full";
  if (!text.starts_with("selective")) return "none";
  if (has(row, "recompute", "every 2nd")) return "{every: 2}";
  return has(row, "recompute", "op") ? "{granularity: op}" : "selective";
}

std::string parallel_of(const Cells& row) {
  const std::uint32_t dp = count_of(row, "dp");
  if (has(row, "sharding", "SHARD_GRAD_OP"))
    return fmt::format("shard: {}, reshard_after_forward: false", dp);
  if (const auto shard = number_after(row, "sharding", "FSDP of "))
    return fmt::format("shard: {}, replicate: {}", *shard,
                       number_after(row, "sharding", "replicated ").value_or(1));
  if (has(row, "sharding", "FSDP")) return fmt::format("shard: {}", dp);
  const std::uint32_t distributed = has(row, "sharding", "distributed optimizer") ? 1 : 0;
  const std::uint32_t zero = number_after(row, "sharding", "ZeRO-").value_or(distributed);
  const std::string text = fmt::format("dp: {}, zero: {}", dp, zero);
  const auto ranks = number_after(row, "sharding", "over ");
  return ranks && *ranks < dp ? fmt::format("{}, shard: {}", text, *ranks) : text;
}

double seconds_of(const Cells& row) {
  const double seconds = number_or_nan(row.at("step_s"));
  if (!std::isnan(seconds)) return seconds;
  const double tokens_per_second = number_or_nan(row.at("tokens_per_s_per_gpu"));
  if (std::isnan(tokens_per_second) || row.at("global_batch").empty())
    return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(count_of(row, "global_batch")) * count_of(row, "sequence") /
         (tokens_per_second * count_of(row, "gpus"));
}

std::string name_of(const Cells& row) {
  std::string name = fmt::format("{}, {} {}", row.at("model"), row.at("gpus"), row.at("gpu_type"));
  for (const char* const axis : {"tp", "cp", "pp", "ep"})
    if (count_of(row, axis) > 1) name += fmt::format(", {} {}", axis, count_of(row, axis));
  name += row.at("global_batch").empty()
              ? fmt::format(", {} tokens", count_of(row, "sequence"))
              : fmt::format(", batch {} x {}", count_of(row, "global_batch"),
                            count_of(row, "sequence"));
  if (!row.at("micro_batch").empty())
    name += fmt::format(", microbatch {}", count_of(row, "micro_batch"));
  const std::string recompute = recompute_of(row);
  return recompute == "none" ? name : fmt::format("{}, recompute {}", name, recompute);
}

Table published_table(const Source& source) {
  Table table{.title = source.title, .unit = source.peak_memory ? "GiB" : "s", .bars = {}};
  if (!std::filesystem::exists(source.file)) {
    table.skipped = source.file.string() + ": no such file";
    return table;
  }
  std::map<std::string, int> hindrances;
  for (const Cells& row : rows_of(source.file)) {
    if (source.selects && !source.selects(row)) continue;
    if (const std::string why = why_not(source, row); !why.empty()) {
      ++hindrances[why];
      continue;
    }
    Row run = row_of(source, row);
    run.is_fitted = source.is_fitted;
    if (std::ranges::any_of(table.rows, [&](const Row& other) { return repeats(run, other); }))
      ++hindrances["that repeat others"];
    else
      table.rows.push_back(std::move(run));
  }
  for (const auto& [why, count] : hindrances)
    table.left_out += fmt::format("{}{} rows {}", table.left_out.empty() ? "" : ", ", count, why);
  return table;
}

}  // namespace pipewright::accuracy
