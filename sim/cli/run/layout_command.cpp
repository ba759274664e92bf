#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/run/layout_view.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/parallel.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/execution/exposed_time.hpp"
#include "sim/workload/ranks.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::cli {
namespace {

using execution::Algorithm;
using workload::Collective;
using workload::Group;

constexpr std::uint64_t typical = 64U << 20U;  // bytes of an activation that ranks share

struct TypicalCollective {
  const char* name;
  Group group;
  workload::Operation collective;
  std::uint64_t bytes;
};

// By what tokens get to their experts.
workload::Operation dispatch_of(const config::Scenario& scenario) {
  using config::Dispatcher;
  const config::ExpertTraining& experts = scenario.training.experts;
  if (!scenario.model || !scenario.model->value.experts) return Collective::all_to_all;
  switch (experts.dispatcher) {
    case Dispatcher::alltoall:
      break;
    case Dispatcher::allgather:
      return Collective::all_gather;
    case Dispatcher::deepep:
    case Dispatcher::hybridep:
      return {Collective::dispatch, workload::dispatch_of(*scenario.model->value.experts, experts)};
  }
  return Collective::all_to_all;
}

// Whether experts are laid out otherwise than the other parts of a layer.
bool folds(const config::Parallel& parallel) {
  return parallel.ep.value > 1 || parallel.expert_tp() != parallel.tp.value;
}

// How ranks of cp get at each other's keys.
void add_context(const config::Parallel& parallel, std::vector<TypicalCollective>& found) {
  using config::ContextComm;
  const auto add = [&](const char* name, Group group, Collective collective) {
    found.push_back({name, group, collective, typical});
  };
  switch (parallel.cp_comm) {
    case ContextComm::p2p:
      return add("cp", Group::cp, Collective::ring_exchange);
    case ContextComm::all_gather:
      return add("cp", Group::cp, Collective::all_gather);
    case ContextComm::a2a:
      return add("cp", Group::cp, Collective::all_to_all);
    case ContextComm::a2a_p2p:
      add("cp, heads", Group::cp_a2a, Collective::all_to_all);
      add("cp, keys", Group::cp_p2p, Collective::ring_exchange);
  }
}

// What each kind of group calls most.
std::vector<TypicalCollective> typical_collectives(const config::Parallel& parallel,
                                                   bool ties_embeddings,
                                                   const config::Communication& communication,
                                                   const workload::Operation& to_experts) {
  const Collective activations =
      parallel.sequence ? Collective::all_gather : Collective::all_reduce;
  const Collective gradients =
      parallel.zero > 0 ? Collective::reduce_scatter : Collective::all_reduce;
  const std::uint64_t bucket =
      config::bucket_bytes(communication, parallel.dp.value * parallel.cp.value);
  std::vector<TypicalCollective> found{{"tp", Group::tp, activations, typical}};
  add_context(parallel, found);
  found.push_back({"ep", Group::ep, to_experts, typical});
  found.push_back({"dp x cp", Group::dp, gradients, bucket});
  if (parallel.cp.value == 1) found.back().name = "dp";
  if (parallel.zero > 0 && parallel.replicates() > 1) {
    found.back() = {parallel.cp.value == 1 ? "shard" : "shard x cp", Group::shard, gradients,
                    bucket};
    found.push_back(
        {"replicate", Group::replicate, Collective::all_reduce,
         bucket * parallel.replicates() / (std::uint64_t{parallel.dp.value} * parallel.cp.value)});
  }
  if (parallel.etp) found.push_back({"etp", Group::etp, Collective::all_gather, typical});
  if (folds(parallel)) found.push_back({"experts' dp", Group::edp, gradients, bucket});
  if (parallel.cuts_vocabulary())
    found.push_back({"vocabulary", Group::pp, Collective::broadcast, typical});
  else if (ties_embeddings)
    found.push_back({"first and last stage", Group::embedding, Collective::all_reduce, typical});
  return found;
}

// "ring", or "tree, LL128".
std::string choice_text(const execution::AlgorithmProtocol& choice) {
  if (choice.protocol != cluster::Protocol::simple) return execution::to_string(choice);
  return std::string(config::to_string(choice.algorithm));
}

// Counts flows by the classes of the links that they cross.
class Hops {
 public:
  explicit Hops(const execution::RankPlacement& placement) : placement_(placement) {}

  void add(std::uint32_t source, std::uint32_t destination) {
    std::vector<std::uint32_t> classes;
    for (const cluster::Link* link : placement_.route(source, destination).links) {
      const std::uint32_t number = class_of(link);
      if (std::ranges::find(classes, number) == classes.end()) classes.push_back(number);
    }
    ++count_[classes];
  }

  // The most frequent first: "16384 over nvlink".
  std::vector<std::string> text() const {
    std::vector<std::pair<std::uint64_t, std::string>> sorted;
    for (const auto& [classes, count] : count_) {
      std::vector<std::string_view> names;
      for (const std::uint32_t number : classes) names.push_back(names_[number]);
      sorted.emplace_back(count,
                          names.empty() ? "no link" : fmt::format("{}", fmt::join(names, " + ")));
    }
    std::ranges::stable_sort(sorted, std::greater{}, &std::pair<std::uint64_t, std::string>::first);
    std::vector<std::string> lines;
    for (const auto& [count, names] : sorted)
      lines.push_back(fmt::format("{} over {}", count, names));
    return lines;
  }

 private:
  std::uint32_t class_of(const cluster::Link* link) {
    const auto [known, is_new] = class_of_.emplace(link, 0);
    if (!is_new) return known->second;
    const std::string& name = placement_.cluster().link_class(link);
    const auto place = std::ranges::find(names_, name);
    known->second = static_cast<std::uint32_t>(place - names_.begin());
    if (place == names_.end()) names_.push_back(name);
    return known->second;
  }

  const execution::RankPlacement& placement_;
  std::unordered_map<const cluster::Link*, std::uint32_t> class_of_;
  std::vector<std::string> names_;
  std::map<std::vector<std::uint32_t>, std::uint64_t> count_;
};

class GroupsTable {
 public:
  void add(std::vector<std::string> cells, const Hops& hops) {
    for (const std::string& line : hops.text()) {
      cells.push_back(line);
      for (std::size_t i = 0; i < cells.size(); ++i) columns_[i].push_back(cells[i]);
      cells.assign(cells.size() - 1, "");
    }
  }
  std::string text() {
    analysis::TextTable table;
    table.add_names("groups of", columns_[0]);
    table.add_numbers({"number"}, columns_[1]);
    table.add_numbers({"ranks"}, columns_[2]);
    table.add_names("collective", columns_[3]);
    table.add_names("by", columns_[4]);
    table.add_numbers({"in"}, columns_[5]);
    table.add_names("hops", columns_[6]);
    return table.text();
  }

 private:
  std::array<std::vector<std::string>, 7> columns_;
};

// The largest first, without those of one rank.
using Groups = std::vector<std::vector<std::uint32_t>>;
std::map<std::size_t, Groups, std::greater<>> by_size(Groups groups) {
  std::map<std::size_t, Groups, std::greater<>> sizes;
  for (auto& group : groups)
    if (group.size() > 1) sizes[group.size()].push_back(std::move(group));
  return sizes;
}

// A table of the kinds of groups that have more than one rank: how many there are, over which
// classes of links they communicate, and, for a typical collective, the algorithm and the time that
// it takes when all of them run it at once. `ties_embeddings`: the first and the last stage share
// one; `to_experts`: by what tokens get to them.
std::string groups_table(const config::Parallel& parallel, bool ties_embeddings,
                         const config::Communication& communication,
                         const workload::Operation& to_experts, const workload::Ranks& ranks,
                         cluster::Cluster& cluster, const execution::RankPlacement& placement) {
  GroupsTable table;
  execution::CollectiveTimes times(cluster, ranks, placement, communication.all_reduce);
  for (const TypicalCollective& one :
       typical_collectives(parallel, ties_embeddings, communication, to_experts)) {
    const Algorithm algorithm = one.collective.kind == Collective::all_reduce
                                    ? communication.all_reduce
                                    : Algorithm::automatic;
    const auto bytes = static_cast<double>(one.bytes);
    for (const auto& [size, groups] : by_size(ranks.groups(one.group))) {
      Hops hops(placement);
      for (const auto& group : groups) {
        execution::FlowSum pairs;  // of all phases
        for (const auto& phase :
             execution::plan(one.collective, bytes, group, algorithm, placement))
          for (const execution::Flow& flow : phase.flows)
            pairs.add(flow.source, flow.destination, 0);
        for (const execution::Flow& pair : pairs.take()) hops.add(pair.source, pair.destination);
      }
      double seconds = 0;
      for (std::uint32_t device = 0; device < ranks.devices(); ++device)
        if (ranks.group_size(one.group, device) == size)
          seconds = std::max(
              seconds,
              times.seconds({.group = one.group, .collective = one.collective, .bytes = one.bytes},
                            device));
      table.add({one.name, fmt::format("{}", groups.size()), fmt::format("{}", size),
                 fmt::format("{} of {}", workload::name_of(one.collective.kind),
                             analysis::format_bytes(one.bytes)),
                 choice_text(execution::choose(one.collective, bytes, groups.front(), algorithm,
                                               placement)),
                 analysis::format_seconds(seconds)},
                hops);
    }
  }
  if (ranks.devices() > 1) {
    Hops hops(placement);
    for (std::uint32_t replica = 0; replica < ranks.replicas(); ++replica)
      for (std::uint32_t device = 1; device < ranks.devices(); ++device)
        for (const auto& [source, destination, parts] :
             ranks.hop({replica, device - 1}, device, true))
          hops.add(source, destination);
    table.add({"pp", fmt::format("{}", ranks.replicas() * ranks.ranks_per_stage()),
               fmt::format("{}", ranks.devices()), "from point to point", "", ""},
              hops);
  }
  return table.text();
}

po::options_description layout_options() {
  po::options_description options("options", 100);
  add_scenario_options(options);
  options.add_options()("help,h", "this text");
  return options;
}

// "tp 8 x dp 128 x pp 16", the innermost first.
std::string sizes_text(const config::Parallel& parallel) {
  const std::array names{"tp", "cp", "ep", "dp", "pp"};
  const std::array sizes{parallel.tp.value, parallel.cp.value, std::uint32_t{1}, parallel.dp.value,
                         parallel.pp.value};
  std::vector<std::string> parts;
  for (const config::Axis axis : parallel.order)
    if (const auto i = static_cast<std::size_t>(axis); sizes[i] > 1)
      parts.push_back(axis == config::Axis::tp ? "tp " + parallel.tp_text()
                                               : fmt::format("{} {}", names[i], sizes[i]));
  if (parts.empty()) return "one GPU";
  std::string text = fmt::format("{}", fmt::join(parts, " x "));
  if (folds(parallel))
    text += fmt::format(", experts etp {} x ep {} x edp {}", parallel.expert_tp(),
                        parallel.ep.value, parallel.expert_replicas());
  return text;
}

}  // namespace

int layout_command(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, layout_options(), "scenario");
  if (given.count("help") != 0) {
    fmt::print(
        "usage: pipewright layout SCENARIO [OPTIONS]\n\n"
        "Shows where the ranks of a scenario are: which GPUs hold which part of tp, cp, ep, dp "
        "and\n"
        "pp, over which links their groups talk, and how long a typical collective takes there\n"
        "when all groups of its kind are at it. Nothing else is simulated.\n\n"
        "  pipewright layout platforms/scenarios/gpt-6b-a100.yaml\n"
        "  pipewright layout llama.yaml --tp 4 --pp 2\n"
        "  pipewright layout llama.yaml --set parallel.order=tp-cp-ep-pp-dp\n\n{}",
        describe(layout_options()));
    return exit_ok;
  }
  const config::Scenario scenario = config::read_scenario(scenario_tree(given));
  evaluation::Hardware hardware = evaluation::open_hardware(scenario);
  const execution::RankPlacement placement(hardware.cluster, hardware.hosts);
  fmt::print("{} ranks on {}: {}\n\n{}", hardware.ranks.size(), hardware.cluster.name(),
             sizes_text(scenario.parallel),
             placement_table(scenario.parallel, hardware.ranks, placement));
  const std::string groups = groups_table(
      scenario.parallel, !scenario.model || scenario.model->value.tied_embeddings,
      scenario.communication, dispatch_of(scenario), hardware.ranks, hardware.cluster, placement);
  if (!groups.empty()) fmt::print("\n{}", groups);
  const std::string note =
      evaluation::straddling(hardware.ranks, hardware.hosts, hardware.cluster).note();
  if (!note.empty()) print_notes({note});
  return exit_ok;
}

}  // namespace pipewright::cli
