#include "sim/comm/fit.hpp"

#include <optional>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/base/numbers.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/comm/accuracy_records.hpp"
#include "sim/comm/disagreement.hpp"
#include "sim/comm/fitted_file.hpp"
#include "sim/config/text/library.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::cli {
namespace {

constexpr std::size_t max_parameters = 8;

po::options_description comm_fit_options() {
  po::options_description options("options of 'fit'", 100);
  auto add = options.add_options();
  add_cluster_option(options);
  add("output,o", po::value<std::string>()->value_name("FILE.xml"),
      "write the platform file with the fitted numbers and their origin");
  add("parameters", po::value<std::string>()->value_name("N"),
      "maximum number of fitted parameters, the most significant first (5)");
  add("fit", po::value<std::vector<std::string>>()->multitoken()->value_name("NAME.."),
      "fit exactly these parameters: nvlink.latency, collective.launch, ..");
  add("hold-out", po::value<std::string>()->value_name("WHICH"),
      "exclude every other message size of each curve from the fit: odd, even or none (none). "
      "Errors on excluded rows are reported; cross-validation over parts of the rows is done in "
      "any case");
  add("together",
      "fit all logs together even if they disagree about the same operation, ranks and "
      "size");
  add_log_options(options);
  add("json", "print the result as JSON and nothing else");
  add("help,h", "print this help");
  return options;
}

int print_comm_fit_help() {
  fmt::print(
      "usage: pipewright comm fit LOG.. --cluster FILE.xml|NAME [-o FITTED.xml] [OPTIONS]\n"
      "\n"
      "Fits a cluster's network model to measurements of nccl-tests or the OSU\n"
      "micro-benchmarks, changing only the few parameters that the measurements demand. Prints\n"
      "confidence intervals, parameters that the measurements cannot tell apart or do not\n"
      "affect, and the errors on rows that were not fitted.\n"
      "\n"
      "  pipewright comm fit all_reduce_16.log --cluster dgx-a100 -o fitted.xml\n"
      "  pipewright comm fit *.log --cluster mine.xml --parameters 3 --hold-out none -o "
      "fitted.xml\n"
      "  pipewright comm fit one.log --cluster mine.xml --fit nvlink.latency nvlink.efficiency\n"
      "  pipewright comm compare *.log --cluster fitted.xml\n"
      "\n"
      "Errors are ratios with a robust loss, so a few outliers do little harm; outliers are\n"
      "listed. Intervals assume that the errors of rows are independent; they are too narrow if\n"
      "a whole curve is off.\n"
      "\n"
      "{}",
      describe(comm_fit_options()));
  return exit_ok;
}

comm::HoldOut parse_hold_out(const po::variables_map& options) {
  const std::string text =
      options.count("hold-out") != 0 ? options["hold-out"].as<std::string>() : "none";
  if (text == "odd") return comm::HoldOut::odd;
  if (text == "even") return comm::HoldOut::even;
  if (text == "none") return comm::HoldOut::none;
  throw UsageError(fmt::format("--hold-out '{}': must be odd, even or none", text));
}

std::size_t parameter_count(const po::variables_map& options) {
  if (options.count("parameters") == 0) return 5;
  const std::string text = options["parameters"].as<std::string>();
  const std::optional<std::size_t> value = base::parse_number<std::size_t>(text);
  if (!value || *value < 1 || *value > max_parameters)
    throw UsageError(fmt::format("--parameters '{}': must be a whole number from 1 to {}", text,
                                 max_parameters));
  return *value;
}

void reject_disagreement(const analysis::MeasurementLog& log) {
  if (const auto pair = comm::find_disagreement(log.rows))
    throw UsageError(
        fmt::format("{} and {} share {} rows of the same operation, ranks and size, but "
                    "the latter takes {:.2f} times as long in the median, as on a different "
                    "machine, NCCL version or day; fit each log separately, or add --together",
                    analysis::printable(pair->faster), analysis::printable(pair->slower),
                    pair->rows, pair->ratio));
}

// Splits names at commas: "a,b c" gives three names.
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

std::optional<std::filesystem::path> fitted_output(const po::variables_map& options) {
  if (options.count("output") == 0) return std::nullopt;
  const std::string file = options["output"].as<std::string>();
  if (!file.ends_with(".xml"))
    throw UsageError(fmt::format("-o {}: the file name must end in .xml", file));
  std::vector<std::filesystem::path> read = log_files(options, "fit");
  for (const std::string& word : values(options, "cluster"))
    read.push_back(config::is_library_name(word, ".xml")
                       ? config::library_file("clusters", word, ".xml")
                       : std::filesystem::path(word));
  check_files(read, std::vector<std::filesystem::path>{file});
  const trace::PartialFile probe(file);  // fails before the fit, not after it
  return file;
}

}  // namespace

int comm_fit(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, comm_fit_options(), "log");
  if (options.count("help") != 0) return print_comm_fit_help();
  const comm::HoldOut selection = parse_hold_out(options);
  const auto output = fitted_output(options);
  comm::FitOptions settings{.max_parameters = parameter_count(options),
                            .names = split_names(values(options, "fit"))};
  if (settings.names.size() > max_parameters)
    throw UsageError(fmt::format("--fit: at most {} parameters", max_parameters));
  analysis::MeasurementLog log = read_given_logs(options, "fit");
  if (options.count("together") == 0) reject_disagreement(log);
  cluster::Cluster cluster = load_cluster(options, "fit");
  remark_on_gpus(cluster, log);

  watch_for_interrupts();
  analysis::FitReport report;
  {
    ProgressBar bar("fitting", true);
    settings.progress = [&](double share) {
      throw_if_interrupted();
      if (bar.is_due()) bar.draw(share, fmt::format("{} rows", log.rows.size()));
    };
    report = comm::fit(cluster, log.rows, comm::held_out_rows(log.rows, selection), settings);
  }
  const bool json = options.count("json") != 0;
  fmt::print("{}", json ? fit_json(report) : fit_text(report));
  if (!output) return exit_ok;
  const std::string fitted = comm::fitted_platform(cluster.text(), report, evaluation::versions());
  trace::write_file(*output, comm::with_records(fitted, comm::records_of(cluster, report)));
  if (!json) fmt::print("\nwrote   {}\n", output->string());
  return exit_ok;
}

}  // namespace pipewright::cli
