#include "sim/cli/comm/comm_options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/commlogs/logs/read_log.hpp"
#include "analysis/report/text_table.hpp"
#include "sim/base/numbers.hpp"
#include "sim/cli/options.hpp"
#include "sim/comm/byte_matrix.hpp"
#include "sim/comm/logged_gpus.hpp"
#include "sim/config/nccl_versions.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::cli {
namespace {

constexpr std::size_t max_sizes = 10'000;

[[noreturn]] void fail_sizes(const std::string& flag, const std::string& text,
                             const std::string& reason) {
  throw UsageError(fmt::format("{} '{}': {}", flag, text, reason))
      .suggest("expected sizes such as 8:8G:2 (factor 2), 1M:64M:+1M or 4K,1M,1G");
}

// Parses a size: "8", "4K", "1.5M", "2GiB". K, M, G and T are powers of 1024.
std::uint64_t parse_size_word(const std::string& word, const std::string& flag,
                              const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  std::string unit(end, word.data() + word.size());
  if (unit.ends_with("iB"))
    unit.resize(unit.size() - 2);
  else if (unit == "B")
    unit.clear();
  constexpr std::string_view units = "KMGT";
  const std::size_t power = unit.size() == 1 ? units.find(unit.front()) : std::string_view::npos;
  if (error != std::errc() || (!unit.empty() && power == std::string_view::npos))
    fail_sizes(flag, text, fmt::format("'{}' is not a size", word));
  const double bytes =
      number * (unit.empty() ? 1 : std::pow(1024.0, static_cast<double>(power + 1)));
  if (!(bytes >= 1)) fail_sizes(flag, text, fmt::format("'{}' is below 1 byte", word));
  if (bytes > static_cast<double>(comm::max_bytes))
    fail_sizes(flag, text, fmt::format("'{}' is above 1024 TiB", word));
  return static_cast<std::uint64_t>(std::llround(bytes));
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos;
       end = text.find(separator, begin)) {
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  words.push_back(text.substr(begin));
  return words;
}

constexpr std::size_t max_remarks = 8;

void print_remark(const analysis::LogRemark& remark) {
  fmt::print(stderr, "{}:{}: {}\n", analysis::printable(remark.file), remark.line,
             analysis::printable(remark.text));
}

std::optional<std::uint32_t> optional_count(const po::variables_map& options, const char* option,
                                            std::uint32_t minimum) {
  if (options.count(option) == 0) return std::nullopt;
  const std::string text = options[option].as<std::string>();
  constexpr std::uint32_t maximum = 1'000'000;
  const std::optional<std::uint32_t> value = base::parse_number<std::uint32_t>(text);
  if (!value || *value < minimum || *value > maximum)
    throw UsageError(fmt::format("--{} '{}': must be a whole number from {} to {}", option,
                                 analysis::printable(text), minimum, maximum));
  return value;
}

std::optional<analysis::Operation> optional_operation(const po::variables_map& options) {
  if (options.count("op") == 0) return std::nullopt;
  const std::string text = options["op"].as<std::string>();
  return parse_operation_name(text, fmt::format("--op '{}'", analysis::printable(text)));
}

config::Multipath multipath_of(const po::variables_map& options) {
  if (options.count("multipath") == 0) return {};
  const std::vector<std::string> words = values(options, "multipath");
  const std::string& text = single(words, "--multipath");
  if (const auto parsed_multipath = config::parse_multipath(text)) return *parsed_multipath;
  throw UsageError(
      fmt::format("--multipath '{}': must be adaptive, spread, file, or hash with a seed and the "
                  "flows per pair, such as hash:3 or hash:3:4",
                  analysis::printable(text)));
}

}  // namespace

void add_cluster_option(po::options_description& options) {
  options.add_options()(
      "cluster", po::value<std::vector<std::string>>()->multitoken()->value_name("FILE.xml|NAME"),
      "cluster: a SimGrid platform file, or a name from the library");
}

void add_failure_options(po::options_description& options) {
  add_failure_words(options);
  options.add_options()("multipath", several_words("WAY"),
                        std::string(config::multipath_help).c_str());
}

void add_algorithm_option(po::options_description& options) {
  const std::string further_algorithms =
      config::algorithm_list().substr(config::to_string(config::Algorithm::automatic).size());
  const std::string help = "algorithm: automatic (as NCCL chooses)" + further_algorithms;
  options.add_options()("algorithm", po::value<std::string>()->value_name("NAME"), help.c_str())(
      "nccl", po::value<std::string>()->value_name("VERSION"),
      "NCCL version whose rules choose algorithms, such as 2.27 (from the cluster file)");
}

namespace {

void set_nccl(const po::variables_map& options, cluster::Cluster& cluster) {
  if (options.count("nccl") == 0) return;
  const std::string text = options["nccl"].as<std::string>();
  const auto version = config::parse_nccl(text);
  if (!version)
    throw UsageError(fmt::format("--nccl '{}' is unknown", analysis::printable(text)))
        .allow(config::nccl_versions);
  cluster.set_nccl(*version);
}

}  // namespace

cluster::Cluster load_cluster(const po::variables_map& options, const std::string& verb) {
  const std::vector<std::string> words = values(options, "cluster");
  if (words.size() > 1)
    throw UsageError(fmt::format("--cluster of comm {} takes one cluster, not {}", verb,
                                 fmt::join(words, " and ")));
  if (words.empty())
    throw UsageError(fmt::format("comm {} needs --cluster", verb))
        .suggest(fmt::format("give a FILE.xml or a name from the library: {}",
                             fmt::join(config::library_names("clusters", ".xml"), ", ")));
  const std::string& word = words.front();
  const bool is_library_name = config::is_library_name(word, ".xml");
  const std::filesystem::path file = is_library_name
                                         ? config::library_file("clusters", word, ".xml")
                                         : std::filesystem::path(word);
  cluster::Cluster cluster =
      cluster::Cluster::load(file, is_library_name ? word : std::string(), multipath_of(options));
  for (const config::Variation::SlowLink& link : failures(options))
    evaluation::scale_link(link, cluster);
  set_nccl(options, cluster);
  return cluster;
}

std::vector<std::uint64_t> parse_sizes(const std::string& text, const std::string& flag) {
  std::vector<std::uint64_t> sizes;
  const std::vector<std::string> range = split_at(text, ':');
  if (range.size() == 1) {
    for (const std::string& word : split_at(text, ','))
      sizes.push_back(parse_size_word(word, flag, text));
    return sizes;
  }
  if (range.size() > 3) fail_sizes(flag, text, "has more than three parts");
  const std::uint64_t first = parse_size_word(range[0], flag, text);
  const std::uint64_t last = parse_size_word(range[1], flag, text);
  if (last < first) fail_sizes(flag, text, "the end is smaller than the start");
  const std::string step = range.size() == 3 ? range[2] : "2";
  const bool adds = step.starts_with('+');
  if (!adds && step.find_first_not_of("0123456789") != std::string::npos)
    fail_sizes(flag, text, fmt::format("the step '{}' is not a whole number", step));
  const std::uint64_t step_size = parse_size_word(adds ? step.substr(1) : step, flag, text);
  if (!adds && step_size < 2) fail_sizes(flag, text, "the factor is below 2");
  for (std::uint64_t size = first; size <= last;
       size = adds ? size + step_size : size * step_size) {
    if (sizes.size() == max_sizes) fail_sizes(flag, text, "has more than 10,000 sizes");
    sizes.push_back(size);
  }
  return sizes;
}

config::Algorithm parse_algorithm(const std::string& text) {
  if (text == "auto") return config::Algorithm::automatic;
  if (const auto algorithm = config::parse_algorithm(text)) return *algorithm;
  throw UsageError(fmt::format("--algorithm '{}': {}", text, config::algorithm_list()));
}

double parse_bandwidth(std::string_view text) {
  constexpr std::string_view noun = "a bus bandwidth such as 180 GB/s";
  const std::string subject = fmt::format("--assume '{}'", text);
  if (!text.ends_with("/s")) throw UsageError(fmt::format("{}: expected {}", subject, noun));
  const std::uint64_t bytes = config::parse_size(text.substr(0, text.size() - 2), subject, noun);
  if (bytes == 0) throw UsageError(fmt::format("{}: expected {} above 0", subject, noun));
  return static_cast<double>(bytes);
}

analysis::Operation parse_operation_name(const std::string& text, const std::string& subject) {
  if (const auto operation = analysis::parse_operation(text)) return *operation;
  std::vector<std::string_view> names;
  for (const analysis::OperationInfo& info : analysis::operation_list()) names.push_back(info.name);
  const UsageError error(fmt::format("{}: unknown operation", subject));
  if (const std::string_view similar = analysis::similar_operation(text); !similar.empty())
    throw UsageError(error).suggest_name(similar).allow(
        fmt::format("one of {}", fmt::join(names, ", ")));
  throw UsageError(error).suggest(fmt::format("choose from {}", fmt::join(names, ", ")));
}

void add_log_options(po::options_description& options) {
  auto add = options.add_options();
  add("op", po::value<std::string>()->value_name("OP"),
      "operation, such as all-reduce, for logs that do not name it");
  add("ranks", po::value<std::string>()->value_name("N"),
      "number of ranks, for logs that do not name it");
  add("nodes", po::value<std::string>()->value_name("N"),
      "number of nodes that share the ranks evenly (nodes filled one by one)");
}

std::vector<std::filesystem::path> log_files(const po::variables_map& options,
                                             const std::string& verb) {
  const std::vector<std::string> words = values(options, "log");
  if (words.empty())
    throw UsageError(fmt::format("comm {} needs logs", verb))
        .suggest("name files with the output of nccl-tests or the OSU micro-benchmarks");
  return {words.begin(), words.end()};
}

analysis::MeasurementLog read_given_logs(const po::variables_map& options,
                                         const std::string& verb) {
  const std::vector<std::filesystem::path> files = log_files(options, verb);
  analysis::MeasurementLog log =
      analysis::read_logs(files, {.operation = optional_operation(options),
                                  .ranks = optional_count(options, "ranks", 2),
                                  .nodes = optional_count(options, "nodes", 1)});
  for (std::size_t i = 0; i < std::min(log.remarks.size(), max_remarks); ++i)
    print_remark(log.remarks[i]);
  if (log.remarks.size() > max_remarks)
    fmt::print(stderr, "and {} more remarks\n", log.remarks.size() - max_remarks);
  return log;
}

void remark_on_gpus(const cluster::Cluster& cluster, analysis::MeasurementLog& log) {
  for (analysis::LogRemark& remark : comm::other_gpus(cluster, log.gpus)) {
    print_remark(remark);
    log.remarks.push_back(std::move(remark));
  }
}

}  // namespace pipewright::cli
