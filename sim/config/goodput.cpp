#include "sim/config/goodput.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

using Failure = Goodput::Failure;
using Kind = Goodput::Kind;

// Published failure rates of a cluster. The sources have nodes of 8 GPUs and do not say which
// failures belong to the host, so that a node with more or fewer GPUs counts in proportion.
struct FailureProfile {
  std::string_view name;
  std::vector<Failure> failures;
};

// Sources. llama-3: 419 unexpected interruptions of Llama 3 405B in 54 days of 2048 nodes (arXiv
// 2407.21783, table 5): 148 of GPUs and 72 of their memory, 54 of software, 35 of switches and
// cables, 110 others. rsc-1 and rsc-2: research clusters of Meta (arXiv 2410.21680), whose failures
// are not divided by kind.
const std::vector<FailureProfile>& profiles() {
  static const std::vector<FailureProfile> list = [] {
    constexpr double gpus_per_node = 8;
    const auto failure = [](Kind kind, double rate_of_node) {
      return Failure{.kind = kind, .rate = rate_of_node / gpus_per_node, .per = Goodput::Unit::gpu};
    };
    const auto llama = [&](Kind kind, double count) { return failure(kind, count / (2.048 * 54)); };
    return std::vector<FailureProfile>{{"rsc-1", {failure(Kind::node, 6.50)}},
                                       {"rsc-2", {failure(Kind::node, 2.34)}},
                                       {"llama-3",
                                        {llama(Kind::gpu, 148 + 72), llama(Kind::software, 54),
                                         llama(Kind::network, 35), llama(Kind::node, 110)}}};
  }();
  return list;
}

double read_rate(const Field& field) {
  const std::string allowed = "a number of events per 1000 days of a unit, such as 6.5";
  const std::string& text = read_text(field, allowed);
  if (text == "0") return 0;
  return parse_positive_number(text, subject(field), "a rate");
}

double read_storage(const Field& field) {
  constexpr std::string_view allowed = "a rate such as 40 GB/s";
  return parse_storage_rate(read_text(field, allowed), subject(field), "a rate of storage");
}

// Reads a number of nodes, which may be 0. `alternative` is text for the error message: another
// value that the key allows.
std::uint32_t read_nodes_or(const Field& field, std::string_view alternative) {
  if (field.value.kind == Value::Kind::text && field.value.text == "0") return 0;
  try {
    return read_count(field, "4");
  } catch (const Error&) {
    throw wrong(field,
                fmt::format("a whole number from 0 to {}, such as 4{}", 1U << 31U, alternative));
  }
}

std::uint32_t read_nodes(const Field& field) { return read_nodes_or(field, ""); }

// Reads a number of nodes, "2 racks" or "rest".
void read_spares(const Field& field, Goodput& goodput) {
  std::string text = field.value.kind == Value::Kind::text ? field.value.text : "";
  goodput.rest_is_spare = text == "rest";
  for (const std::string_view unit : {" racks", " rack"})
    if (text.ends_with(unit) && !goodput.spares_are_racks) {
      goodput.spares_are_racks = true;
      text.resize(text.size() - unit.size());
    }
  if (goodput.rest_is_spare) return;
  Value number = field.value;
  if (goodput.spares_are_racks) number.text = text;
  goodput.spares = read_nodes_or({number, field.name}, ", 2 racks, or rest");
}

// Reads the time between checkpoints; "auto" gives no value.
std::optional<Located<double>> read_interval(const Field& field) {
  if (field.value.kind == Value::Kind::text && field.value.text == "auto") return std::nullopt;
  const double seconds = read_time(field, "an interval");
  if (seconds > 0) return Located<double>{seconds, field.value.origin};
  throw wrong(field, "a time above 0 such as 20 min, or auto");
}

template <auto member, Words noun>
constexpr auto rate_of = into<member, read_rate>({ValueType::number});
template <auto member>
constexpr auto storage_rate = into<member, read_storage>({ValueType::rate});

constexpr std::array failure_table{
    Key<Failure>{{.name = "kind", .help = "failing component", .default_value = "node"},
                 choice<&Failure::kind, failure_kinds>},
    Key<Failure>{{.name = "rate",
                  .help = "failures per 1000 days of each unit of the job",
                  .required = true},
                 rate_of<&Failure::rate, "">},
    Key<Failure>{{.name = "per",
                  .help = "unit of the rate (a node of an NVLink rack is one compute tray)",
                  .default_value = "node; rack for rack"},
                 choice<&Failure::per, failure_units>},
    Key<Failure>{{.name = "shape",
                  .help = "shape of the Weibull distribution of a unit's times between failures",
                  .default_value = "1, exponential"},
                 within<&Failure::shape, "a shape", "a shape from 0.2 to 20, such as 0.7", 0, 20>},
    Key<Failure>{{.name = "nodes",
                  .help = "number of nodes that fail together, as behind a switch",
                  .default_value = "1; 0 for software; those of a rack for rack"},
                 into<&Failure::nodes, read_nodes>({ValueType::count})},
    Key<Failure>{{.name = "detection",
                  .help = "time until the failure is noticed; default: goodput.detection"},
                 time<&Failure::detection, "a time">},
    Key<Failure>{{.name = "repair", .help = "time until the nodes return; default: goodput.repair"},
                 time<&Failure::repair, "a time">},
};

std::vector<Failure> read_failures(const Field& field) {
  const std::string allowed = "{kind: node, rate: 6.5}, a list of them, rsc-1, rsc-2 or llama-3";
  if (field.value.kind == Value::Kind::text) {
    const auto it = std::ranges::find(profiles(), field.value.text, &FailureProfile::name);
    if (it == profiles().end()) throw wrong(field, allowed);
    return it->failures;
  }
  std::vector<Failure> failures;
  const auto read = [&](const Field& item) {
    failures.push_back({.origin = item.value.origin});
    read_keys<Failure>(item, failure_table, failures.back());
    if (failures.back().shape < 0.2) throw wrong(item, "a shape from 0.2 to 20, such as 0.7");
  };
  if (field.value.kind == Value::Kind::map)
    read(field);
  else
    for (const Field& item : items(field, allowed)) read(item);
  return failures;
}

std::filesystem::path read_failure_trace(const Field& field) {
  return existing_path(field,
                       "the path of a .csv with columns time, kind and nodes, or of a .json");
}

std::uint32_t read_trace_nodes(const Field& field) { return read_count(field, "400"); }

using NodeStraggler = Goodput::Straggler;
constexpr std::array node_straggler_table{
    Key<NodeStraggler>{{.name = "rate",
                        .help = "episodes in which a node is slow, per 1000 node-days of the job",
                        .default_value = "0"},
                       rate_of<&NodeStraggler::rate, "">},
    Key<NodeStraggler>{{.name = "factor",
                        .help = "slowdown factor of iterations during an episode",
                        .required = true},
                       within<&NodeStraggler::factor, "a slowdown",
                              "a slowdown from 1 to 1000, such as 1.2", 1, 1000>},
    Key<NodeStraggler>{
        {.name = "lasts", .help = "mean duration of an episode", .default_value = "1 h"},
        time<&NodeStraggler::lasts, "a time">},
    Key<NodeStraggler>{{.name = "replaced_after",
                        .help = "time after which the slow node is replaced like a failed one"},
                       time<&NodeStraggler::after, "a time">},
};

using Corruption = Goodput::Corruption;
constexpr std::array corruption_table{
    Key<Corruption>{
        {.name = "rate", .help = "corruptions per 1000 node-days of the job", .default_value = "0"},
        rate_of<&Corruption::rate, "">},
    Key<Corruption>{
        {.name = "found_after",
         .help =
             "mean time until a corruption is found; training returns to a checkpoint before it",
         .default_value = "1 h"},
        time<&Corruption::found_after, "a time">},
};

using Planned = Goodput::Planned;
constexpr std::array planned_table{
    Key<Planned>{
        {.name = "a_week", .help = "planned stops per week, evenly spaced", .required = true},
        within<&Planned::a_week, "a number of stops per week",
               "a number of stops per week up to 1000, such as 6", 0, 1000>},
    Key<Planned>{{.name = "lasts",
                  .help = "duration of a stop, without checkpoint and restart",
                  .default_value = "1 h"},
                 time<&Planned::lasts, "a time">},
};

using Checkpoint = Goodput::Checkpoint;
constexpr std::array checkpoint_table{
    Key<Checkpoint>{{.name = "mode",
                     .help = "checkpoint mode (sync waits for storage, async for a copy to host "
                             "memory, peer also copies to peers)",
                     .default_value = "sync"},
                    choice<&Checkpoint::mode, checkpoint_modes>},
    Key<Checkpoint>{
        {.name = "interval",
         .flag = "--checkpoint-interval",
         .help = "training time between checkpoints; auto: optimum by Daly's formula",
         .default_value = "auto"},
        {[](const Field& f, Checkpoint& c) { c.interval = read_interval(f); }, {ValueType::time}}},
    Key<Checkpoint>{
        {.name = "bytes",
         .help = "size of a checkpoint; default: weights and optimizer state of the model"},
        size<&Checkpoint::bytes, "a checkpoint's size">},
    Key<Checkpoint>{
        {.name = "storage",
         .help = "write bandwidth of storage for all nodes; default: 0.65 GB/s per node"},
        storage_rate<&Checkpoint::storage>},
    Key<Checkpoint>{
        {.name = "read", .help = "read bandwidth of storage for all nodes; default: storage"},
        storage_rate<&Checkpoint::read>},
    Key<Checkpoint>{{.name = "copy",
                     .help = "bandwidth from a GPU to host memory, not used by sync",
                     .default_value = "25 GB/s"},
                    storage_rate<&Checkpoint::copy>},
    Key<Checkpoint>{{.name = "peer_interval",
                     .help = "training time between copies to a peer's memory",
                     .default_value = "1 min"},
                    {[](const Field& f, Checkpoint& c) { c.peer_interval = read_interval(f); },
                     {ValueType::time}}},
    Key<Checkpoint>{{.name = "peer",
                     .help = "bandwidth between the memories of a node and its peer, each way",
                     .default_value = "25 GB/s"},
                    storage_rate<&Checkpoint::peer>},
    Key<Checkpoint>{{.name = "network",
                     .help = "network bandwidth of all nodes, shared by training and storage; "
                             "default: separate networks"},
                    storage_rate<&Checkpoint::network>},
    Key<Checkpoint>{
        {.name = "traffic",
         .help =
             "bandwidth that training uses on the shared network; default: that of an iteration"},
        storage_rate<&Checkpoint::traffic>},
};

constexpr std::array goodput_table{
    Key<Goodput>{
        {.name = "duration", .help = "duration of the goodput run", .default_value = "30 d"},
        time<&Goodput::duration, "a duration">},
    Key<Goodput>{{.name = "failures",
                  .help = "failure model: {kind, rate, shape, nodes}, a list, or published data of "
                          "rsc-1, rsc-2 or llama-3",
                  .default_value = "rsc-1"},
                 into<&Goodput::failures, read_failures>(
                     {ValueType::map, true, {}, [] { return rows_of(failure_table); }})},
    Key<Goodput>{{.name = "failure_trace",
                  .help = "recorded failures in place of a model: a .csv of times, kinds and "
                          "nodes, or a .json of fault events"},
                 into<&Goodput::trace, read_failure_trace>({ValueType::path})},
    Key<Goodput>{
        {.name = "trace_nodes",
         .help = "number of nodes of the recorded cluster; each seed draws the nodes and the first "
                 "day of the job",
         .unit = "nodes"},
        into<&Goodput::trace_nodes, read_trace_nodes>({ValueType::count})},
    Key<Goodput>{{.name = "stragglers", .help = "temporarily slow nodes"},
                 map_of<&Goodput::straggler, node_straggler_table>},
    Key<Goodput>{{.name = "corruption", .help = "silent data corruption that is found late"},
                 map_of<&Goodput::corruption, corruption_table>},
    Key<Goodput>{
        {.name = "planned", .help = "planned stops for maintenance, each after a checkpoint"},
        map_of<&Goodput::planned, planned_table>},
    Key<Goodput>{{.name = "checkpoint", .help = "checkpoints: mode, interval and bandwidths"},
                 map_of<&Goodput::checkpoint, checkpoint_table>},
    Key<Goodput>{
        {.name = "detection", .help = "time until a failure is noticed", .default_value = "0"},
        time<&Goodput::detection, "a time">},
    Key<Goodput>{{.name = "restart",
                  .help = "restart time on available nodes, until loading begins",
                  .default_value = "5 min"},
                 time<&Goodput::restart, "a time">},
    Key<Goodput>{{.name = "repair",
                  .help = "time until a failed node becomes a spare",
                  .default_value = "24 h"},
                 time<&Goodput::repair, "a time">},
    Key<Goodput>{
        {.name = "spares",
         .flag = "--spares",
         .help = "number of spare nodes, of spare racks such as 2 racks, or rest: the nodes of the "
                 "cluster that the job leaves free; default: unlimited",
         .unit = "nodes"},
        {[](const Field& f, Goodput& g) { read_spares(f, g); }, {ValueType::count}}},
    Key<Goodput>{
        {.name = "replaces",
         .help =
             "unit that is exchanged for spares when a node fails: the node, or its NVLink rack",
         .default_value = "node"},
        choice<&Goodput::replaces, replaced_units>},
    Key<Goodput>{{.name = "elastic",
                  .flag = "--elastic",
                  .help = "continue with fewer replicas if there is no spare",
                  .default_value = "false"},
                 flag<&Goodput::elastic>},
};

}  // namespace

Goodput read_goodput(const Field& field) { return read_map<goodput_table>(field); }

std::vector<KeyRow> goodput_keys() { return rows_of(goodput_table); }

std::vector<Goodput::Failure> published_failures(std::string_view name) {
  return std::ranges::find(profiles(), name, &FailureProfile::name)->failures;
}

}  // namespace pipewright::config
