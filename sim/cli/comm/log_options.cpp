#include "sim/cli/comm/log_options.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "analysis/comm/logs/read_log.hpp"
#include "analysis/text_table.hpp"

namespace pipewright::cli {
namespace {

constexpr std::size_t most_remarks = 8;

std::optional<std::uint32_t> count(const po::variables_map& given, const char* option,
                                   std::uint32_t least) {
  if (given.count(option) == 0) return std::nullopt;
  const std::string text = given[option].as<std::string>();
  constexpr std::uint32_t most = 1'000'000;
  std::uint32_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw UsageError(fmt::format("--{} '{}': a whole number from {} to {}", option,
                                 analysis::printable(text), least, most));
  return value;
}

std::optional<analysis::Operation> operation(const po::variables_map& given) {
  if (given.count("op") == 0) return std::nullopt;
  const std::string text = given["op"].as<std::string>();
  const auto found = analysis::parse_operation(text);
  if (found) return found;
  std::string names;
  for (const analysis::OperationInfo& info : analysis::operation_list())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  throw UsageError(fmt::format("--op '{}': there is no such operation; there are {}",
                               analysis::printable(text), names));
}

}  // namespace

void add_log_options(po::options_description& options) {
  auto add = options.add_options();
  add("op", po::value<std::string>()->value_name("OP"),
      "what was measured, where a log does not say: all-reduce, ..");
  add("ranks", po::value<std::string>()->value_name("N"), "the same of the number of ranks");
  add("nodes", po::value<std::string>()->value_name("N"),
      "the nodes that the ranks are spread over, evenly; else nodes are filled up");
}

std::vector<std::filesystem::path> log_files(const po::variables_map& given,
                                             const std::string& verb) {
  const std::vector<std::string> words = values(given, "log");
  if (words.empty())
    throw UsageError(
        fmt::format("comm {}: which logs? Name files with what nccl-tests or the OSU "
                    "micro-benchmarks print",
                    verb));
  return {words.begin(), words.end()};
}

analysis::MeasurementLog read_given_logs(const po::variables_map& given, const std::string& verb) {
  const std::vector<std::filesystem::path> files = log_files(given, verb);
  analysis::MeasurementLog log = analysis::read_logs(files, {.operation = operation(given),
                                                             .ranks = count(given, "ranks", 2),
                                                             .nodes = count(given, "nodes", 1)});
  for (std::size_t i = 0; i < std::min(log.remarks.size(), most_remarks); ++i)
    fmt::print(stderr, "{}:{}: {}\n", analysis::printable(log.remarks[i].file), log.remarks[i].line,
               analysis::printable(log.remarks[i].text));
  if (log.remarks.size() > most_remarks)
    fmt::print(stderr, "and {} more remarks of this kind\n", log.remarks.size() - most_remarks);
  return log;
}

}  // namespace pipewright::cli
