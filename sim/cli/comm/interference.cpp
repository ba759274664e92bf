#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/trace/partial_file.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/cli/comm/traffic_words.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/evaluation/job_traffic.hpp"

namespace pipewright::cli {
namespace {

po::options_description interference_options() {
  po::options_description options("options", 100);
  const auto words = [](const char* name) {
    return po::value<std::vector<std::string>>()->multitoken()->value_name(name);
  };
  add_cluster_option(options);
  auto add = options.add_options();
  add("tp", words("N"), "tensor-parallel ranks, if no scenario is given (1)");
  add("cp", words("N"), "context-parallel ranks (1)");
  add("ep", words("N"), "expert-parallel ranks (1)");
  add("etp", words("N"), "tensor-parallel ranks within an expert (tp)");
  add("dp", words("N"), "data-parallel ranks (1)");
  add("pp", words("N"), "pipeline stages (1)");
  add("traffic", words("'OPERATION SIZE GROUPS'..")->composing(),
      "kinds of traffic to measure in place of the scenario's own");
  add("set", words("KEY=VALUE..")->composing(),
      "set any key of the scenario, such as parallel.order=tp-dp-pp");
  add("output,o", words("FILE.json"), "write all figures as JSON");
  add("help,h", "print this help");
  return options;
}

int print_interference_help() {
  fmt::print(
      "usage: pipewright comm interference SCENARIO [OPTIONS]\n"
      "       pipewright comm interference --cluster FILE.xml|NAME --tp N .. --traffic T.. \n"
      "\n"
      "Shows how kinds of a job's traffic slow each other down: the slowdown of each kind while\n"
      "another runs continuously, the time of both when they start together, and the links that\n"
      "they share. A scenario's traffic is its tensor-, context-, expert- and data-parallel\n"
      "collectives and the tensors between stages, with their actual sizes.\n"
      "\n"
      "  pipewright comm interference mixtral-8x7b-h100\n"
      "  pipewright comm interference --cluster dgx-a100 --tp 8 --dp 2 --pp 2\n"
      "      --traffic 'all-reduce 256M dp' 'send-recv 32M pp' 'all-gather 64M tp'\n"
      "  pipewright comm interference llama.yaml --traffic 'all-reduce 1G dp ring'\n"
      "      'send-recv 64M pp' --set parallel.order=tp-cp-ep-pp-dp\n"
      "\n"
      "--traffic takes an operation (all-reduce, all-gather, reduce-scatter, all-to-all,\n"
      "broadcast, reduce, gather, scatter, send-recv or pairwise), a size in the convention of\n"
      "nccl-tests, the groups that run it at the same time (tp, cp, ep, etp, dp, edp, pp,\n"
      "embedding or world), and optionally an algorithm. 'send-recv SIZE pp' connects each\n"
      "stage with the next, in both directions.\n"
      "\n"
      "{}",
      describe(interference_options()));
  return exit_ok;
}

// Sets the number of devices from --pp. Without a scenario file, also sets microbatches and pass
// times, which every scenario needs but this command does not use.
void describe_layout(const po::variables_map& options, config::Value& root) {
  const auto set = [&](const char* key, const std::string& word, const std::string& flag) {
    config::set_key(root, key, config::make_text(word, {.source = flag}));
  };
  const auto stages = values(options, "pp");
  if (scenario_file(options)) {
    if (!stages.empty()) set("devices", single(stages, "--pp"), "--pp");
    return;
  }
  const std::string count = stages.empty() ? "1" : single(stages, "--pp");
  set("devices", count, "--pp");
  set("microbatches", count, "--pp");
  set("forward_times", "1 s", "F");
  set("backward_times", "1 s", "B");
}

std::string parallel_text(const config::Parallel& parallel) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, std::uint32_t size) {
    if (size > 1) parts.push_back(fmt::format("{} {}", name, size));
  };
  add("tp", parallel.tp.value);
  add("cp", parallel.cp.value);
  add("ep", parallel.ep.value);
  add("dp", parallel.dp.value);
  add("pp", parallel.pp.value);
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Appends -1, -2, .. to the names of kinds of traffic that have the same name.
void number_duplicates(std::vector<comm::Traffic>& traffic) {
  std::map<std::string, int> count;
  for (const comm::Traffic& kind : traffic) ++count[kind.name];
  std::map<std::string, int> number;
  for (comm::Traffic& kind : traffic)
    if (count[kind.name] > 1) {
      const std::string name = kind.name;
      kind.name = fmt::format("{}-{}", name, ++number[name]);
    }
}

std::filesystem::path interference_output(const po::variables_map& options) {
  if (options.count("output") == 0) return {};
  std::filesystem::path file = single(values(options, "output"), "-o");
  if (parse_outputs(std::vector{file}).front().kind != OutputKind::json)
    throw UsageError(fmt::format("{}: the file name must end in .json", file.string()));
  return file;
}

}  // namespace

int comm_interference(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, interference_options(), "scenario");
  if (options.count("help") != 0) return print_interference_help();
  const std::vector<std::string> texts = values(options, "traffic");
  if (!scenario_file(options) && (texts.empty() || options.count("cluster") == 0))
    throw UsageError("comm interference needs a job")
        .suggest(
            "give a scenario, or --cluster with a layout (--tp 8 --dp 2) and --traffic 'all-reduce "
            "256M dp' ..; see --help");
  const std::filesystem::path file = interference_output(options);
  if (const auto scenario = scenario_file(options); scenario && !file.empty())
    check_files(std::vector{*scenario}, std::vector{file});
  const config::Scenario scenario = config::read_scenario(
      scenario_tree(options, [&](config::Value& root) { describe_layout(options, root); }));
  if (!scenario.cluster)
    throw UsageError("comm interference needs a cluster, as an ideal network has no contention")
        .suggest("give --cluster");
  evaluation::Hardware hardware = evaluation::open_hardware(scenario);
  const execution::RankPlacement placement(hardware.cluster, hardware.hosts);
  std::vector<comm::Traffic> traffic;
  for (const std::string& text : texts)
    traffic.push_back(parse_traffic(text, hardware.ranks, placement));
  if (texts.empty()) traffic = evaluation::job_traffic(scenario, hardware, placement);
  if (traffic.empty())
    throw UsageError(
        "comm interference needs traffic, but the scenario has none, because it has no model or "
        "only one GPU")
        .suggest("add --traffic, such as --traffic 'all-reduce 256M dp'");
  number_duplicates(traffic);

  watch_for_interrupts();
  analysis::Interference result;
  {
    ProgressBar bar("interference", true);
    result = comm::interfere(hardware.cluster, placement, traffic, [&](double share) {
      throw_if_interrupted();
      if (bar.is_due()) bar.draw(share, "kinds alone and in pairs");
    });
  }
  result.layout = parallel_text(scenario.parallel);
  fmt::print("{}", analysis::interference_text(result));
  if (!file.empty()) {
    trace::write_file(file, analysis::interference_json(result));
    fmt::print("wrote   {}\n", file.string());
  }
  return exit_ok;
}

}  // namespace pipewright::cli
