#include "sim/comm/survey.hpp"

#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/summary.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/comm/bench.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::cli {
namespace {

po::options_description survey_options() {
  po::options_description options("options", 100);
  const auto words = [](const char* name) {
    return po::value<std::vector<std::string>>()->multitoken()->value_name(name);
  };
  add_cluster_option(options);
  add_failure_options(options);
  auto add = options.add_options();
  add("op", words("OP"), "collective to time, if no scenario is given (all-reduce)");
  add("ranks", words("N"), "run the collective on the first N GPUs of the cluster (all)");
  add("size", words("BYTES"), "message size of the collective (1G)");
  add("to", words("PART"), "fraction of its bandwidth that a failed link or switch keeps (0)");
  add("most", words("N"), "maximum number of links per class, and of switches, to test (32)");
  add("hash", words("SEEDS"),
      "measure the effect of ECMP hashing instead of failures, with this "
      "number of hash seeds");
  add("flows", words("N.."), "numbers of flows per pair of GPUs to compare, for --hash (1 2 4 8)");
  add("set", words("KEY=VALUE..")->composing(), "set any key of the scenario");
  add("output,o", words("FILE.json"), "write all figures as JSON");
  add("help,h", "print this help");
  return options;
}

int print_survey_help() {
  fmt::print(
      "usage: pipewright comm survey --cluster FILE.xml|NAME [OPTIONS]\n"
      "       pipewright comm survey SCENARIO [OPTIONS]\n"
      "\n"
      "Shows how a collective, or a job's iteration, slows down when a link or a switch fails:\n"
      "each one in turn, the worst first. Traffic avoids failed elements; GPUs that are cut off\n"
      "are named. --hash shows the cost of ECMP hash collisions, and how much more flows or\n"
      "adaptive routing help.\n"
      "\n"
      "  pipewright platform make --node dgx-h100 --nodes 16 --spines 4 -o fabric.xml\n"
      "  pipewright comm survey --cluster fabric.xml --size 256M\n"
      "  pipewright comm survey --cluster fabric.xml --op all-to-all --to 0.5\n"
      "  pipewright comm survey --cluster fabric.xml --op all-to-all --hash 50\n"
      "  pipewright comm survey gpt-6b-a100\n"
      "\n"
      "{}",
      describe(survey_options()));
  return exit_ok;
}

std::string word_or(const po::variables_map& options, const std::string& option,
                    const std::string& default_value) {
  const std::vector<std::string> words = values(options, option);
  return words.empty() ? default_value : single(words, "--" + option);
}

std::uint32_t count_or(const po::variables_map& options, const std::string& option,
                       std::uint32_t default_value) {
  if (options.count(option) == 0) return default_value;
  return config::read_count({config::make_text(word_or(options, option, ""), {}), "--" + option},
                            "32");
}

// Cluster and the operation that a survey times on it under each failure: a collective, or an
// iteration of a job.
struct SurveyTarget {
  cluster::Cluster cluster;
  std::string description;
  comm::Measure measure;
};

SurveyTarget collective_target(const po::variables_map& options) {
  const std::string name = word_or(options, "op", "all-reduce");
  const analysis::Operation operation =
      parse_operation_name(name, fmt::format("--op '{}'", analysis::printable(name)));
  const auto sizes = parse_sizes(word_or(options, "size", "1G"), "--size");
  if (sizes.size() != 1) throw UsageError("--size takes one size, such as 1G");
  SurveyTarget target{.cluster = load_cluster(options, "survey")};
  const std::uint32_t ranks =
      count_or(options, "ranks", static_cast<std::uint32_t>(target.cluster.gpus().size()));
  target.description =
      fmt::format("{} of {} over {} ranks", name, analysis::format_bytes(sizes.front()), ranks);
  target.measure = [cluster = std::make_shared<cluster::Cluster>(target.cluster), operation,
                    bytes = sizes.front(), ranks] {
    return comm::simulate(*cluster, comm::make_single_group(*cluster, operation, ranks), bytes)
        .seconds;
  };
  return target;
}

SurveyTarget job_target(const po::variables_map& options) {
  const config::Scenario scenario = config::read_scenario(scenario_tree(options));
  if (!scenario.cluster)
    throw UsageError("comm survey needs a cluster, as an ideal network has no links")
        .suggest("give --cluster");
  SurveyTarget target{.cluster = evaluation::open_cluster(scenario), .description = "an iteration"};
  target.measure = [scenario, cluster = target.cluster] {
    evaluation::Hardware hardware = evaluation::place_on(cluster, scenario);
    workload::Plan plan = evaluation::plan_on(scenario, scenario.schedules.front(), hardware);
    const execution::Job job = evaluation::make_job(scenario, hardware, plan);
    analysis::SummarySink summary;
    execution::run(job, execution::EngineKind::simgrid, {}, summary);
    return summary.summary().makespan_s;
  };
  return target;
}

}  // namespace

int comm_survey(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, survey_options(), "scenario");
  if (options.count("help") != 0) return print_survey_help();
  const std::filesystem::path file = word_or(options, "output", "");
  if (!file.empty() && parse_outputs(std::vector{file}).front().kind != OutputKind::json)
    throw UsageError(fmt::format("{}: the file name must end in .json", file.string()));
  comm::FailureOptions failure_options{.remaining = 0,
                                       .max_per_kind = count_or(options, "most", 32)};
  if (options.count("to") != 0)
    failure_options.remaining =
        config::read_part({config::make_text(word_or(options, "to", ""), {}), "--to"}, "a part");
  if (const auto scenario = scenario_file(options); scenario && !file.empty())
    check_files(std::vector{*scenario}, std::vector{file});
  SurveyTarget target = scenario_file(options) ? job_target(options) : collective_target(options);

  watch_for_interrupts();
  ProgressBar bar("survey", true);
  const comm::Progress progress = [&](double share) {
    throw_if_interrupted();
    if (bar.is_due()) bar.draw(share, options.count("hash") != 0 ? "seeds" : "failures");
  };
  const auto show = [&](auto survey) {
    survey.what = target.description;
    fmt::print("{}", analysis::survey_text(survey));
    if (file.empty()) return;
    trace::write_file(file, analysis::survey_json(survey));
    fmt::print("wrote   {}\n", file.string());
  };
  if (options.count("hash") == 0) {
    show(comm::survey_failures(target.cluster, target.measure, failure_options, progress));
    return exit_ok;
  }
  std::vector<std::uint32_t> flows;
  for (const std::string& word : values(options, "flows"))
    flows.push_back(config::read_count({config::make_text(word, {}), "--flows"}, "4"));
  if (flows.empty()) flows = {1, 2, 4, 8};
  if (!target.cluster.has_divided_routes())
    throw UsageError(fmt::format(
        "{} has no equally short paths, so --hash of comm survey has no effect; 'platform make "
        "--spines N' writes parallel links separately instead of merging them",
        target.cluster.name()));
  show(comm::survey_hashes(target.cluster, target.measure, count_or(options, "hash", 50), flows,
                           progress));
  return exit_ok;
}

}  // namespace pipewright::cli
