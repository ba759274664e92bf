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
#include "sim/cli/options.hpp"
#include "sim/comm/byte_matrix.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::cli {
namespace {

constexpr std::size_t most_sizes = 10'000;

[[noreturn]] void fail(const std::string& flag, const std::string& text, const std::string& what) {
  throw UsageError(fmt::format("{} '{}': {}; as in 8:8G:2 (times 2), 1M:64M:+1M, or 4K,1M,1G", flag,
                               text, what));
}

// "8", "4K", "1.5M", "2GiB"; K, M, G and T count in powers of 1024.
std::uint64_t parse_one(const std::string& word, const std::string& flag, const std::string& text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  std::string unit(end, word.data() + word.size());
  if (unit.ends_with("iB"))
    unit.resize(unit.size() - 2);
  else if (unit == "B")
    unit.clear();
  constexpr std::string_view units = "KMGT";
  const std::size_t power = unit.size() == 1 ? units.find(unit.front()) : std::string_view::npos;
  if (fault != std::errc() || (!unit.empty() && power == std::string_view::npos))
    fail(flag, text, fmt::format("'{}' is no size", word));
  const double bytes =
      number * (unit.empty() ? 1 : std::pow(1024.0, static_cast<double>(power + 1)));
  if (!(bytes >= 1)) fail(flag, text, fmt::format("'{}' is below 1 byte", word));
  if (bytes > static_cast<double>(comm::most_bytes))
    fail(flag, text, fmt::format("'{}' is above 1024 TiB", word));
  return static_cast<std::uint64_t>(std::llround(bytes));
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t end = text.find(by); end != std::string::npos; end = text.find(by, begin)) {
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  words.push_back(text.substr(begin));
  return words;
}

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

config::Multipath multipath(const po::variables_map& given) {
  if (given.count("multipath") == 0) return {};
  const std::vector<std::string> words = values(given, "multipath");
  const std::string& text = single(words, "--multipath");
  if (const auto found = config::parse_multipath(text)) return *found;
  throw UsageError(fmt::format(
      "--multipath '{}': spread, file, or hash with a seed and the flows of a pair, such as hash:3 "
      "or hash:3:4",
      analysis::printable(text)));
}

}  // namespace

void add_cluster_option(po::options_description& options) {
  options.add_options()(
      "cluster", po::value<std::vector<std::string>>()->multitoken()->value_name("FILE.xml|NAME"),
      "the cluster: a SimGrid platform file, or a name of the library");
}

void add_failure_options(po::options_description& options) {
  add_failure_words(options);
  options.add_options()("multipath", several_words("WAY"),
                        std::string(config::multipath_help).c_str());
}

void add_algorithm_option(po::options_description& options) {
  const std::string others =
      config::algorithm_list().substr(config::to_string(config::Algorithm::automatic).size());
  const std::string help = "automatic (the fastest, as NCCL chooses)" + others;
  options.add_options()("algorithm", po::value<std::string>()->value_name("NAME"), help.c_str())(
      "nccl", po::value<std::string>()->value_name("VERSION"),
      "version of NCCL that chooses them, such as 2.27; else the cluster file's");
}

namespace {

void set_nccl(const po::variables_map& given, cluster::Cluster& cluster) {
  if (given.count("nccl") == 0) return;
  const std::string text = given["nccl"].as<std::string>();
  const auto version = config::parse_nccl(text);
  if (!version)
    throw UsageError(
        fmt::format("--nccl '{}': a version of NCCL 2, such as 2.27", analysis::printable(text)));
  cluster.set_nccl(*version);
}

}  // namespace

cluster::Cluster load_cluster(const po::variables_map& given, const std::string& verb) {
  const std::vector<std::string> words = values(given, "cluster");
  if (words.size() > 1)
    throw UsageError(fmt::format("comm {}: --cluster names one cluster, not {}", verb,
                                 fmt::join(words, " and ")));
  if (words.empty())
    throw UsageError(
        fmt::format("comm {}: which cluster? Give --cluster FILE.xml, or a name of "
                    "the library: {}",
                    verb, fmt::join(config::library_names("clusters", ".xml"), ", ")));
  const std::string& word = words.front();
  const bool listed = config::is_library_name(word, ".xml");
  const std::filesystem::path file =
      listed ? config::library_file("clusters", word, ".xml") : std::filesystem::path(word);
  cluster::Cluster cluster =
      cluster::Cluster::load(file, listed ? word : std::string(), multipath(given));
  for (const config::Variation::SlowLink& link : failures(given))
    evaluation::scale_link(link, cluster);
  set_nccl(given, cluster);
  return cluster;
}

std::vector<std::uint64_t> parse_sizes(const std::string& text, const std::string& flag) {
  std::vector<std::uint64_t> sizes;
  const std::vector<std::string> range = split(text, ':');
  if (range.size() == 1) {
    for (const std::string& word : split(text, ',')) sizes.push_back(parse_one(word, flag, text));
    return sizes;
  }
  if (range.size() > 3) fail(flag, text, "has more than three parts");
  const std::uint64_t first = parse_one(range[0], flag, text);
  const std::uint64_t last = parse_one(range[1], flag, text);
  if (last < first) fail(flag, text, "ends before it begins");
  const std::string step = range.size() == 3 ? range[2] : "2";
  const bool adds = step.starts_with('+');
  if (!adds && step.find_first_not_of("0123456789") != std::string::npos)
    fail(flag, text, fmt::format("grows by '{}', which is no whole number", step));
  const std::uint64_t by = parse_one(adds ? step.substr(1) : step, flag, text);
  if (!adds && by < 2) fail(flag, text, "grows by a factor below 2");
  for (std::uint64_t size = first; size <= last; size = adds ? size + by : size * by) {
    if (sizes.size() == most_sizes) fail(flag, text, "has more than 10,000 sizes");
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
  if (!text.ends_with("/s")) throw UsageError(fmt::format("{}: {} is needed", subject, noun));
  const std::uint64_t bytes = config::parse_size(text.substr(0, text.size() - 2), subject, noun);
  if (bytes == 0) throw UsageError(fmt::format("{}: {} is needed, above 0", subject, noun));
  return static_cast<double>(bytes);
}

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
