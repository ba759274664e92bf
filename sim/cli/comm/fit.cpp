#include "sim/comm/fit.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/comm/disagreement.hpp"
#include "sim/comm/fitted_file.hpp"
#include "sim/comm/tried.hpp"
#include "sim/config/text/library.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::cli {
namespace {

constexpr std::size_t most_parameters = 8;

po::options_description fit_options() {
  po::options_description options("options of 'fit'", 100);
  auto add = options.add_options();
  add_cluster_option(options);
  add("output,o", po::value<std::string>()->value_name("FILE.xml"),
      "the platform file with the fitted numbers, and where they come from");
  add("parameters", po::value<std::string>()->value_name("N"),
      "fit at most so many, those that explain most (5)");
  add("fit", po::value<std::vector<std::string>>()->multitoken()->value_name("NAME.."),
      "fit these and no others: nvlink.latency, collective.launch, ..");
  add("hold-out", po::value<std::string>()->value_name("WHICH"),
      "leave out of the fit odd: of each curve every second size; even: the others; none (as it is "
      "without this, for whichever it is, fits to parts of the rows are tried on the rest)");
  add("together", "fit one file to logs that disagree about the same rows");
  add_log_options(options);
  add("json", "print the result as JSON and nothing else");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright comm fit LOG.. --cluster FILE.xml|NAME [-o FITTED.xml] [OPTIONS]\n"
      "\n"
      "Finds the numbers of a cluster's network model with which predictions are nearest to what\n"
      "nccl-tests or the OSU micro-benchmarks measured: few of them, those that the measurements\n"
      "ask for. Says how sure each is, which the measurements cannot tell apart or say nothing\n"
      "about, and how far predictions are off on rows that were not fitted.\n"
      "\n"
      "  pipewright comm fit all_reduce_16.log --cluster dgx-a100 -o fitted.xml\n"
      "  pipewright comm fit *.log --cluster mine.xml --parameters 3 --hold-out none -o "
      "fitted.xml\n"
      "  pipewright comm fit one.log --cluster mine.xml --fit nvlink.latency nvlink.efficiency\n"
      "  pipewright comm compare *.log --cluster fitted.xml\n"
      "\n"
      "Errors count by their ratio, and large ones little more than small ones, so that a few\n"
      "wrong rows do no harm; they are listed. The intervals hold if rows miss the model\n"
      "independently of each other; where a whole curve is off they are too narrow.\n\n{}",
      describe(fit_options()));
  return exit_ok;
}

comm::HoldOut hold_out(const po::variables_map& given) {
  const std::string text =
      given.count("hold-out") != 0 ? given["hold-out"].as<std::string>() : "none";
  if (text == "odd") return comm::HoldOut::odd;
  if (text == "even") return comm::HoldOut::even;
  if (text == "none") return comm::HoldOut::none;
  throw UsageError(fmt::format("--hold-out '{}': odd, even or none", text));
}

std::size_t parameter_count(const po::variables_map& given) {
  if (given.count("parameters") == 0) return 5;
  const std::string text = given["parameters"].as<std::string>();
  std::size_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < 1 ||
      value > most_parameters)
    throw UsageError(
        fmt::format("--parameters '{}': a whole number from 1 to {}", text, most_parameters));
  return value;
}

void refuse_disagreement(const analysis::MeasurementLog& log) {
  if (const auto found = comm::disagreement(log.rows))
    throw UsageError(fmt::format(
        "comm fit: {} and {} have {} rows of the same operation, ranks and size, and by the latter "
        "they take {:.2f} times as long at the median, as of another machine, version of NCCL or "
        "day; fit each by itself, or both as one with --together",
        analysis::printable(found->one), analysis::printable(found->other), found->rows,
        found->ratio));
}

// "a,b c" are three.
std::vector<std::string> split_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words)
    for (std::size_t begin = 0; begin <= word.size();) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      if (end > begin) names.push_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  return names;
}

std::optional<std::filesystem::path> output_file(const po::variables_map& given) {
  if (given.count("output") == 0) return std::nullopt;
  const std::string file = given["output"].as<std::string>();
  if (!file.ends_with(".xml"))
    throw UsageError(fmt::format("-o {}: a platform file ends in .xml", file));
  std::vector<std::filesystem::path> read = log_files(given, "fit");
  for (const std::string& word : values(given, "cluster"))
    read.push_back(config::is_library_name(word, ".xml")
                       ? config::library_file("clusters", word, ".xml")
                       : std::filesystem::path(word));
  check_files(read, std::vector<std::filesystem::path>{file});
  const trace::PartialFile can_be_written(file);  // told before the work, not after it
  return file;
}

}  // namespace

int comm_fit(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, fit_options(), "log");
  if (given.count("help") != 0) return print_help();
  const comm::HoldOut which = hold_out(given);
  const auto output = output_file(given);
  comm::FitOptions options{.most = parameter_count(given),
                           .named = split_names(values(given, "fit"))};
  if (options.named.size() > most_parameters)
    throw UsageError(fmt::format("--fit: at most {} parameters", most_parameters));
  const analysis::MeasurementLog log = read_given_logs(given, "fit");
  if (given.count("together") == 0) refuse_disagreement(log);
  cluster::Cluster cluster = load_cluster(given, "fit");

  watch_for_interrupts();
  analysis::FitReport report;
  {
    ProgressBar bar("fitting", true);
    options.progress = [&](double share) {
      throw_if_interrupted();
      if (bar.is_due()) bar.draw(share, fmt::format("{} rows", log.rows.size()));
    };
    report = comm::fit(cluster, log.rows, comm::held_out_rows(log.rows, which), options);
  }
  const bool json = given.count("json") != 0;
  fmt::print("{}", json ? fit_json(report) : fit_text(report));
  if (!output) return exit_ok;
  const std::string fitted = comm::fitted_platform(cluster.text(), report, evaluation::versions());
  trace::write_file(*output, comm::with_records(fitted, comm::records_of(cluster, report)));
  if (!json) fmt::print("\nwrote   {}\n", output->string());
  return exit_ok;
}

}  // namespace pipewright::cli
