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
#include "sim/cli/schedule_options.hpp"
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

constexpr std::uint64_t typical_bytes = 64U << 20U;  // of an activation that ranks share

struct TypicalCollective {
  const char* name;
  Group group;
  workload::Operation collective;
  std::uint64_t bytes;
};

// Collective by which a scenario sends tokens to their experts.
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

// Returns true if experts are distributed differently from the rest of a layer: ep is above 1, or
// etp differs from tp.
bool has_expert_layout(const config::Parallel& parallel) {
  return parallel.ep.value > 1 || parallel.expert_tp() != parallel.tp.value;
}

// Adds the collectives by which context-parallel ranks exchange keys and values.
void add_context(const config::Parallel& parallel, std::vector<TypicalCollective>& collectives) {
  using config::ContextComm;
  const auto add = [&](const char* name, Group group, Collective collective) {
    collectives.push_back({name, group, collective, typical_bytes});
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

// Most frequent collective of each kind of group, such as tp or dp, with a typical size.
std::vector<TypicalCollective> typical_collectives(const config::Parallel& parallel,
                                                   bool ties_embeddings,
                                                   const config::Communication& communication,
                                                   const workload::Operation& to_experts) {
  const Collective activations =
      parallel.sequence ? Collective::all_gather : Collective::all_reduce;
  const bool sums_for_all = config::sums_for_all_ranks(parallel.zero, communication);
  const Collective gradients = sums_for_all ? Collective::all_reduce : Collective::reduce_scatter;
  const std::uint64_t bucket =
      config::bucket_bytes(communication, parallel.dp.value * parallel.cp.value);
  std::vector<TypicalCollective> collectives{{"tp", Group::tp, activations, typical_bytes}};
  add_context(parallel, collectives);
  collectives.push_back({"ep", Group::ep, to_experts, typical_bytes});
  collectives.push_back({"dp x cp", Group::dp, gradients, bucket});
  if (parallel.cp.value == 1) collectives.back().name = "dp";
  if (!sums_for_all && parallel.replicates() > 1) {
    collectives.back() = {parallel.cp.value == 1 ? "shard" : "shard x cp", Group::shard, gradients,
                          bucket};
    collectives.push_back(
        {"replicate", Group::replicate,
         parallel.shards_optimizer_over_copies() ? Collective::reduce_scatter
                                                 : Collective::all_reduce,
         bucket * parallel.replicates() / (std::uint64_t{parallel.dp.value} * parallel.cp.value)});
  }
  if (parallel.etp)
    collectives.push_back({"etp", Group::etp, Collective::all_gather, typical_bytes});
  if (has_expert_layout(parallel))
    collectives.push_back({"experts' dp", Group::edp, gradients, bucket});
  if (parallel.cuts_vocabulary())
    collectives.push_back({"vocabulary", Group::pp, Collective::broadcast, typical_bytes});
  else if (ties_embeddings)
    collectives.push_back(
        {"first and last stage", Group::embedding, Collective::all_reduce, typical_bytes});
  return collectives;
}

// "ring", "tree, LL128"
std::string choice_text(const execution::AlgorithmProtocol& choice) {
  if (choice.protocol != cluster::Protocol::simple) return execution::to_string(choice);
  return std::string(config::to_string(choice.algorithm));
}

// Counts flows by the classes of links on their routes.
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

  // A line for each set of link classes, with the largest count first: "16384 over nvlink".
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
    const auto [it, is_new] = class_of_.emplace(link, 0);
    if (!is_new) return it->second;
    const std::string& name = placement_.cluster().link_class(link);
    const auto match = std::ranges::find(names_, name);
    it->second = static_cast<std::uint32_t>(match - names_.begin());
    if (match == names_.end()) names_.push_back(name);
    return it->second;
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
    table.add_names("group", columns_[0]);
    table.add_numbers({"groups"}, columns_[1]);
    table.add_numbers({"ranks"}, columns_[2]);
    table.add_names("collective", columns_[3]);
    table.add_names("algorithm", columns_[4]);
    table.add_numbers({"time"}, columns_[5]);
    table.add_names("flows", columns_[6]);
    return table.text();
  }

 private:
  std::array<std::vector<std::string>, 7> columns_;
};

// Groups of two or more ranks by size, the largest first.
using Groups = std::vector<std::vector<std::uint32_t>>;
std::map<std::size_t, Groups, std::greater<>> by_size(Groups groups) {
  std::map<std::size_t, Groups, std::greater<>> sizes;
  for (auto& group : groups)
    if (group.size() > 1) sizes[group.size()].push_back(std::move(group));
  return sizes;
}

// Table of the kinds of groups with more than one rank: their number, the classes of links between
// their ranks, and the algorithm and time of a typical collective when all groups run it at once.
// `ties_embeddings`: the first and the last stage share an embedding. `to_experts`: collective that
// dispatches tokens.
std::string groups_table(const config::Parallel& parallel, bool ties_embeddings,
                         const config::Communication& communication,
                         const workload::Operation& to_experts, const workload::Ranks& ranks,
                         cluster::Cluster& cluster, const execution::RankPlacement& placement) {
  GroupsTable table;
  execution::CollectiveTimes times(cluster, ranks, placement, communication.all_reduce);
  for (const TypicalCollective& call :
       typical_collectives(parallel, ties_embeddings, communication, to_experts)) {
    const Algorithm algorithm = call.collective.kind == Collective::all_reduce
                                    ? communication.all_reduce
                                    : Algorithm::automatic;
    const auto bytes = static_cast<double>(call.bytes);
    for (const auto& [size, groups] : by_size(ranks.groups(call.group))) {
      Hops hops(placement);
      for (const auto& group : groups) {
        execution::FlowSum pairs;  // over all phases
        for (const auto& phase :
             execution::plan(call.collective, bytes, group, algorithm, placement))
          for (const execution::Flow& flow : phase.flows)
            pairs.add(flow.source, flow.destination, 0);
        for (const execution::Flow& pair : pairs.take()) hops.add(pair.source, pair.destination);
      }
      double seconds = 0;
      for (std::uint32_t device = 0; device < ranks.devices(); ++device)
        if (ranks.group_size(call.group, device) == size)
          seconds = std::max(seconds, times.seconds({.group = call.group,
                                                     .collective = call.collective,
                                                     .bytes = call.bytes},
                                                    device));
      table.add({call.name, fmt::format("{}", groups.size()), fmt::format("{}", size),
                 fmt::format("{} of {}", workload::name_of(call.collective.kind),
                             analysis::format_bytes(call.bytes)),
                 choice_text(execution::choose(call.collective, bytes, groups.front(), algorithm,
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
               fmt::format("{}", ranks.devices()), "point to point", "", ""},
              hops);
  }
  return table.text();
}

po::options_description layout_options() {
  po::options_description options("options", 100);
  add_scenario_options(options);
  add_schedule_options(options);
  add_gpus_option(options);
  add_bash_option(options);
  options.add_options()("help,h", "print this help");
  return options;
}

// Sizes of the parallel axes, from the innermost axis: "tp 8 x dp 128 x pp 16".
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
  if (has_expert_layout(parallel))
    text += fmt::format(", experts etp {} x ep {} x edp {}", parallel.expert_tp(),
                        parallel.ep.value, parallel.expert_replicas());
  return text;
}

}  // namespace

int layout_command(const Arguments& arguments) {
  const po::variables_map flags = parse(arguments, layout_options(), "scenario");
  if (flags.count("help") != 0) {
    fmt::print(
        "usage: pipewright layout SCENARIO [OPTIONS]\n\n"
        "Shows the placement of a scenario's ranks: the coordinates in tp, cp, ep, dp and pp of\n"
        "each GPU, the links between the ranks of a group, and the time of a typical collective\n"
        "when all groups of its kind run it at once. Nothing else is simulated.\n\n"
        "  pipewright layout llama-3-70b-h100\n"
        "  pipewright layout llama.yaml --tp 4 --pp 2\n"
        "  pipewright layout llama.yaml --set parallel.order=tp-cp-ep-pp-dp\n\n{}",
        describe(layout_options()));
    return exit_ok;
  }
  const config::Scenario scenario = config::read_scenario(scheduled_tree(flags));
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
