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
  add("tp", words("N"), "without a scenario: tensor-parallel ranks (1)");
  add("cp", words("N"), "context-parallel ranks (1)");
  add("ep", words("N"), "ranks that experts are spread over (1)");
  add("etp", words("N"), "ranks that share each expert (as many as tp)");
  add("dp", words("N"), "data-parallel ranks (1)");
  add("pp", words("N"), "stages of the pipeline (1)");
  add("traffic", words("'OPERATION SIZE GROUPS'..")->composing(),
      "this traffic, in place of the scenario's own");
  add("set", words("KEY=VALUE..")->composing(),
      "set any key of the scenario, as in parallel.order=tp-dp-pp");
  add("output,o", words("FILE.json"), "all figures");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright comm interference SCENARIO [OPTIONS]\n"
      "       pipewright comm interference --cluster FILE.xml|NAME --tp N .. --traffic T.. \n"
      "\n"
      "What kinds of a job's traffic do to each other: how much slower each gets while another is\n"
      "at it all the time, how long both take when they start together, and over which links they\n"
      "meet. Of a scenario: its tensor-, context-, expert- and data-parallel collectives and the\n"
      "tensors between its stages, in the sizes that they have.\n"
      "\n"
      "  pipewright comm interference platforms/scenarios/mixtral-8x7b-h100.yaml\n"
      "  pipewright comm interference --cluster dgx-a100 --tp 8 --dp 2 --pp 2\n"
      "      --traffic 'all-reduce 256M dp' 'send-recv 32M pp' 'all-gather 64M tp'\n"
      "  pipewright comm interference llama.yaml --traffic 'all-reduce 1G dp ring'\n"
      "      'send-recv 64M pp' --set parallel.order=tp-cp-ep-pp-dp\n"
      "\n"
      "A traffic is an operation (all-reduce, all-gather, reduce-scatter, all-to-all, broadcast,\n"
      "reduce, gather, scatter, send-recv or pairwise), a size as nccl-tests counts it, the groups "
      "that do it all at once\n"
      "(tp, cp, ep, etp, dp, edp, pp, embedding or world), and perhaps an algorithm. send-recv of "
      "pp:\n"
      "each stage with the next, both ways.\n"
      "\n{}",
      describe(interference_options()));
  return exit_ok;
}

// The words of the command line as a scenario, whose passes do not matter.
void describe_layout(const po::variables_map& given, config::Value& root) {
  const auto set = [&](const char* key, const std::string& word, const std::string& flag) {
    config::set_key(root, key, config::make_text(word, {.source = flag}));
  };
  const auto stages = values(given, "pp");
  if (scenario_file(given)) {
    if (!stages.empty()) set("devices", single(stages, "--pp"), "--pp");
    return;
  }
  const std::string count = stages.empty() ? "1" : single(stages, "--pp");
  set("devices", count, "--pp");
  set("microbatches", count, "--pp");
  set("forward_times", "1 s", "F");
  set("backward_times", "1 s", "B");
}

std::string layout_text(const config::Parallel& parallel) {
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

// Two kinds over the same groups are told apart by their numbers.
void tell_apart(std::vector<comm::Traffic>& traffic) {
  std::map<std::string, int> count;
  for (const comm::Traffic& kind : traffic) ++count[kind.name];
  std::map<std::string, int> number;
  for (comm::Traffic& kind : traffic)
    if (count[kind.name] > 1) {
      const std::string name = kind.name;
      kind.name = fmt::format("{}-{}", name, ++number[name]);
    }
}

std::filesystem::path output_file(const po::variables_map& given) {
  if (given.count("output") == 0) return {};
  std::filesystem::path file = single(values(given, "output"), "-o");
  if (parse_outputs(std::vector{file}).front().kind != OutputKind::json)
    throw UsageError(fmt::format("{}: interference is written as .json", file.string()));
  return file;
}

}  // namespace

int comm_interference(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, interference_options(), "scenario");
  if (given.count("help") != 0) return print_help();
  const std::vector<std::string> texts = values(given, "traffic");
  if (!scenario_file(given) && (texts.empty() || given.count("cluster") == 0))
    throw UsageError(
        "comm interference: of which job? Give a scenario, or --cluster, a layout (--tp 8 --dp 2) "
        "and --traffic 'all-reduce 256M dp' ..; --help shows how");
  const std::filesystem::path file = output_file(given);
  const config::Scenario scenario = config::read_scenario(
      scenario_tree(given, [&](config::Value& root) { describe_layout(given, root); }));
  if (!scenario.cluster)
    throw UsageError("comm interference: on an ideal network nothing meets; give --cluster");
  evaluation::Hardware hardware = evaluation::open_hardware(scenario);
  const execution::RankPlacement placement(hardware.cluster, hardware.hosts);
  std::vector<comm::Traffic> traffic;
  for (const std::string& text : texts)
    traffic.push_back(parse_traffic(text, hardware.ranks, placement));
  if (texts.empty()) traffic = evaluation::job_traffic(scenario, hardware, placement);
  if (traffic.empty())
    throw UsageError(
        "comm interference: the ranks of this scenario say nothing to each other, as far as it "
        "tells; it has no model, or one GPU. --traffic 'all-reduce 256M dp' says what they do");
  tell_apart(traffic);

  watch_for_interrupts();
  analysis::Interference found;
  {
    ProgressBar bar("interference", true);
    found = comm::interfere(hardware.cluster, placement, traffic, [&](double share) {
      throw_if_interrupted();
      if (bar.is_due()) bar.draw(share, "of traffic alone and by twos");
    });
  }
  found.layout = layout_text(scenario.parallel);
  fmt::print("{}", analysis::interference_text(found));
  if (!file.empty()) {
    trace::write_file(file, analysis::interference_json(found));
    fmt::print("wrote   {}\n", file.string());
  }
  return exit_ok;
}

}  // namespace pipewright::cli
