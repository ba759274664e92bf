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
  add("op", words("OP"), "without a scenario: the collective (all-reduce)");
  add("ranks", words("N"), "GPUs that take part, from the first on (all)");
  add("size", words("BYTES"), "of the collective (1G)");
  add("to", words("PART"), "what fails keeps this part of its rate (0)");
  add("most", words("N"), "links of a class, and switches, that are tried (32)");
  add("hash", words("SEEDS"), "instead: so many seeds of the switches' hashes, as ECMP has them");
  add("flows", words("N.."), "with --hash: flows that each pair of GPUs opens (1 2 4 8)");
  add("set", words("KEY=VALUE..")->composing(), "set any key of the scenario");
  add("output,o", words("FILE.json"), "all figures");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright comm survey --cluster FILE.xml|NAME [OPTIONS]\n"
      "       pipewright comm survey SCENARIO [OPTIONS]\n"
      "\n"
      "What it costs a collective, or a job's iteration, that something fails: every link and\n"
      "every switch in turn, the worst first. Traffic goes round what has failed; where nothing "
      "is\n"
      "left, the one who is cut off is named. With --hash: what collisions of ECMP's hashes cost,\n"
      "and what more flows or adaptive routing would give back.\n"
      "\n"
      "  pipewright platform make --node dgx-h100 --nodes 16 --spines 4 -o fabric.xml\n"
      "  pipewright comm survey --cluster fabric.xml --size 256M\n"
      "  pipewright comm survey --cluster fabric.xml --op all-to-all --to 0.5\n"
      "  pipewright comm survey --cluster fabric.xml --op all-to-all --hash 50\n"
      "  pipewright comm survey platforms/scenarios/gpt-6b-a100.yaml\n"
      "\n{}",
      describe(survey_options()));
  return exit_ok;
}

std::string word_or(const po::variables_map& given, const std::string& option,
                    const std::string& otherwise) {
  const std::vector<std::string> words = values(given, option);
  return words.empty() ? otherwise : single(words, "--" + option);
}

std::uint32_t count_or(const po::variables_map& given, const std::string& option,
                       std::uint32_t otherwise) {
  if (given.count(option) == 0) return otherwise;
  return config::read_count({config::make_text(word_or(given, option, ""), {}), "--" + option},
                            "32");
}

// What is asked again and again, on one cluster.
struct Question {
  cluster::Cluster cluster;
  std::string what;
  comm::Ask ask;
};

Question ask_collective(const po::variables_map& given) {
  const std::string name = word_or(given, "op", "all-reduce");
  const auto operation = analysis::parse_operation(name);
  if (!operation)
    throw UsageError(fmt::format("--op '{}': 'pipewright comm bench --help' lists the operations",
                                 analysis::printable(name)));
  const auto sizes = parse_sizes(word_or(given, "size", "1G"), "--size");
  if (sizes.size() != 1) throw UsageError("--size takes one size, as in 1G");
  Question question{.cluster = load_cluster(given, "survey")};
  const std::uint32_t ranks =
      count_or(given, "ranks", static_cast<std::uint32_t>(question.cluster.gpus().size()));
  question.what =
      fmt::format("{} of {} over {} ranks", name, analysis::format_bytes(sizes.front()), ranks);
  question.ask = [cluster = std::make_shared<cluster::Cluster>(question.cluster),
                  operation = *operation, bytes = sizes.front(), ranks] {
    return comm::simulate(*cluster, comm::one_group(*cluster, operation, ranks), bytes).seconds;
  };
  return question;
}

Question ask_job(const po::variables_map& given) {
  const config::Scenario scenario = config::read_scenario(scenario_tree(given));
  if (!scenario.cluster)
    throw UsageError("comm survey: an ideal network has no links that fail; give --cluster");
  Question question{.cluster = evaluation::open_cluster(scenario), .what = "an iteration"};
  question.ask = [scenario, cluster = question.cluster] {
    evaluation::Hardware hardware = evaluation::place_on(cluster, scenario);
    workload::Plan plan = evaluation::plan_on(scenario, scenario.schedules.front(), hardware);
    const execution::Job job = evaluation::make_job(scenario, hardware, plan);
    analysis::SummarySink summary;
    execution::run(job, execution::EngineKind::simgrid, {}, summary);
    return summary.summary().makespan_s;
  };
  return question;
}

}  // namespace

int comm_survey(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, survey_options(), "scenario");
  if (given.count("help") != 0) return print_help();
  const std::filesystem::path file = word_or(given, "output", "");
  if (!file.empty() && parse_outputs(std::vector{file}).front().kind != OutputKind::json)
    throw UsageError(fmt::format("{}: a survey is written as .json", file.string()));
  comm::FailureOptions options{.left = 0, .most = count_or(given, "most", 32)};
  if (given.count("to") != 0)
    options.left =
        config::read_part({config::make_text(word_or(given, "to", ""), {}), "--to"}, "a part");
  Question question = scenario_file(given) ? ask_job(given) : ask_collective(given);

  watch_for_interrupts();
  ProgressBar bar("survey", true);
  const comm::Progress progress = [&](double share) {
    throw_if_interrupted();
    if (bar.is_due()) bar.draw(share, given.count("hash") != 0 ? "of seeds" : "of failures");
  };
  const auto show = [&](auto survey) {
    survey.what = question.what;
    fmt::print("{}", analysis::survey_text(survey));
    if (file.empty()) return;
    trace::write_file(file, analysis::survey_json(survey));
    fmt::print("wrote   {}\n", file.string());
  };
  if (given.count("hash") == 0) {
    show(comm::survey_failures(question.cluster, question.ask, options, progress));
    return exit_ok;
  }
  std::vector<std::uint32_t> flows;
  for (const std::string& word : values(given, "flows"))
    flows.push_back(config::read_count({config::make_text(word, {}), "--flows"}, "4"));
  if (flows.empty()) flows = {1, 2, 4, 8};
  if (!question.cluster.has_divided_ways())
    throw UsageError(fmt::format(
        "comm survey: on {} no two ways are equally short, so that no hash chooses; links that "
        "stand for several, as 'platform make' writes without --spines, are taken to be spread "
        "over",
        question.cluster.name()));
  show(comm::survey_hashes(question.cluster, question.ask, count_or(given, "hash", 50), flows,
                           progress));
  return exit_ok;
}

}  // namespace pipewright::cli
