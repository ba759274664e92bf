#include "analysis/commlogs/logs/nccl_interpreter.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/commlogs/logs/log_remarks.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

// Returns the programs that commands run, or, if there are none, those that are only mentioned, for
// example where a program is linked.
std::vector<NamedProgram> nccl_commands(const std::vector<NamedProgram>& programs) {
  std::vector<NamedProgram> commands;
  for (const bool require_options : {true, false}) {
    for (const NamedProgram& program : programs)
      if (program.has_options >= require_options && find_nccl_test(program.name) != nullptr)
        commands.push_back(program);
    if (!commands.empty()) break;
  }
  return commands;
}

// Returns the predicted tests that the evidence allows. Pairwise is never among them: its tables
// look like those of send-recv, so the log or --op must name it. If no column shows whether there
// is a root, broadcast is the only rooted test considered.
std::vector<const NcclTest*> possible_tests(const NcclEvidence& evidence) {
  std::vector<const NcclTest*> possible;
  for (const NcclTest& test : nccl_tests())
    if (test.operation && test.operation != Operation::pairwise && evidence.allows(test) &&
        (!test.rooted || evidence.roots_known || test.operation == Operation::broadcast))
      possible.push_back(&test);
  const auto is_suggested = [&](const NcclTest* test) { return evidence.suggests(*test); };
  if (std::ranges::any_of(possible, is_suggested))
    std::erase_if(possible, [&](const NcclTest* test) { return !is_suggested(test); });
  return possible;
}

// Returns the devices in the group of the first rank. nccl-tests prints the times of this group.
std::vector<const LoggedDevice*> first_group(const std::vector<LoggedDevice>& devices) {
  std::vector<const LoggedDevice*> group;
  for (const LoggedDevice& device : devices)
    if (device.group == devices.front().group) group.push_back(&device);
  return group;
}

bool lists_all_ranks(const std::vector<LoggedDevice>& devices) {
  std::set<std::uint32_t> ranks;
  for (const LoggedDevice& device : devices) ranks.insert(device.rank);
  return !ranks.empty() && *ranks.begin() == 0 && *ranks.rbegin() + 1 == ranks.size();
}

}  // namespace

const NcclTest* NcclInterpreter::named_test(const LoggedTable& table,
                                            const NcclEvidence& evidence) {
  for (const std::string& name : {table.run.started_test, table.concluded_test})
    if (const NcclTest* const test = find_nccl_test(name)) return test;
  std::vector<NamedProgram> programs = nccl_commands(table.run.programs);
  if (programs.empty()) return nullptr;
  auto first_command = std::ranges::find_if(programs, [&](const NamedProgram& program) {
    return evidence.allows(*find_nccl_test(program.name));
  });
  if (first_command == programs.end()) first_command = programs.begin();
  const NcclTest* const test = find_nccl_test(first_command->name);
  const bool several = std::ranges::any_of(
      programs, [&](const NamedProgram& program) { return program.name != test->name; });
  if (several) {  // The log holds a script that was printed before its output.
    unused_programs_.assign(first_command + 1, programs.end());
    file_.remark(table.line, fmt::format("several programs are named before the table; assuming "
                                         "{}_perf",
                                         test->name));
  }
  return test;
}

const NcclTest* NcclInterpreter::unnamed_test(const LoggedTable& table,
                                              const NcclEvidence& evidence) {
  const auto possible = possible_tests(evidence);
  const auto is_possible = [&](const NcclTest* test) {
    return test != nullptr && std::ranges::find(possible, test) != possible.end();
  };
  if (possible.size() == 1) {
    file_.remark(table.line, fmt::format("no program is named; inferred {} from columns and rates",
                                         to_string(*possible.front()->operation)));
    return possible.front();
  }
  if (is_possible(previous_)) {
    file_.remark(table.line,
                 fmt::format("no program is named; assuming {}, as in the previous table",
                             to_string(*previous_->operation)));
    return previous_;
  }
  const auto in_name = operation_in_name(file_.name);
  for (const NcclTest* const test : possible)
    if (in_name && test->operation == in_name) {
      file_.remark(table.line, fmt::format("no program is named; assuming {}, from the file name",
                                           to_string(*in_name)));
      return test;
    }
  if (possible.empty()) return nullptr;
  std::string names;
  for (const NcclTest* const test : possible)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(*test->operation));
  throw UnusableTable{table.line,
                      fmt::format("the log does not name the operation of this table; its "
                                  "numbers allow {}; give it with --op",
                                  names)};
}

const NcclTest* NcclInterpreter::test_of(const LoggedTable& table, const NcclEvidence& evidence) {
  const auto by_operation = [](Operation operation) {
    const auto match = std::ranges::find(nccl_tests(), operation, &NcclTest::operation);
    return match == nccl_tests().end() ? nullptr : &*match;
  };
  if (const NcclTest* const requested =
          file_.hints.operation ? by_operation(*file_.hints.operation) : nullptr) {
    if (evidence.allows(*requested)) return requested;
    file_.remark(table.line,
                 fmt::format("columns or rates do not match {}; the given operation is ignored",
                             to_string(*file_.hints.operation)));
  }
  const NcclTest* const named = named_test(table, evidence);
  if (named == nullptr) return unnamed_test(table, evidence);
  if (evidence.allows(*named)) return named;
  const auto possible = possible_tests(evidence);
  const NcclTest* const inferred = possible.size() == 1 ? possible.front() : named;
  file_.remark(table.line,
               fmt::format("the log names {}_perf, but columns and rates do not match it; "
                           "assuming {}_perf",
                           named->name, inferred->name));
  return inferred;
}

std::uint32_t NcclInterpreter::ranks_of(const LoggedTable& table, const NcclTest& test,
                                        const NcclEvidence& evidence) {
  if (file_.hints.ranks && evidence.allows(test, *file_.hints.ranks)) return *file_.hints.ranks;
  if (file_.hints.ranks)
    file_.remark(table.line,
                 fmt::format("rates or counts do not match {} ranks; the given number is ignored",
                             *file_.hints.ranks));
  const auto inferred_ranks = evidence.ranks_of(test);
  const auto& devices = table.run.devices;
  if (!devices.empty()) {
    const bool is_complete = lists_all_ranks(devices);
    const auto group_ranks = static_cast<std::uint32_t>(first_group(devices).size());
    const auto highest_ranks = std::ranges::max_element(devices, {}, &LoggedDevice::rank)->rank + 1;
    const std::uint32_t listed = is_complete ? group_ranks : highest_ranks;
    if (evidence.allows(test, listed)) return listed;
    if (listed == 1 && !inferred_ranks) return 1;
    if (is_complete || inferred_ranks)
      file_.remark(
          table.line,
          fmt::format("the log lists {} ranks, but rates and counts are those of {}", listed,
                      inferred_ranks ? std::to_string(*inferred_ranks) : "another number"));
  }
  const std::uint32_t communicator = table.run.communicator_ranks;
  if (communicator > 0 && (communicator == 1 || evidence.allows(test, communicator))) {
    file_.remark(table.line, fmt::format("{} ranks, from NCCL's 'nRanks'", communicator));
    return communicator;
  }
  if (inferred_ranks) {
    file_.remark(table.line, fmt::format("{} ranks, inferred from the table's rates or counts",
                                         *inferred_ranks));
    return *inferred_ranks;
  }
  const CommandRanks command = read_command(table.run.command);
  if (!table.run.command.empty() && command.processes) {
    const std::uint32_t ranks = *command.processes * command.gpus_per_process;
    if (evidence.allows(test, ranks)) {
      file_.remark(table.line, fmt::format("{} ranks, from the command", ranks));
      return ranks;
    }
  }
  throw UnusableTable{
      table.line, fmt::format("the log does not give the number of ranks of this {}_perf table; "
                              "give it with --ranks, or keep the list of devices before "
                              "the table",
                              test.name)};
}

std::uint32_t NcclInterpreter::nodes_of(const LoggedTable& table, std::uint32_t ranks) {
  if (file_.hints.nodes) return *file_.hints.nodes;
  const auto& devices = table.run.devices;
  if (!devices.empty() && lists_all_ranks(devices)) {
    const auto group = first_group(devices);
    if (group.size() != devices.size())
      file_.remark(table.line,
                   fmt::format("groups of ranks ran at the same time; this one has {} of {} ranks "
                               "and is treated as if it had run alone",
                               group.size(), devices.size()));
    if (group.size() == ranks) {
      std::map<std::string_view, std::uint32_t> ranks_by_host;
      for (const LoggedDevice* const device : group) ++ranks_by_host[device->host];
      const auto nodes = static_cast<std::uint32_t>(ranks_by_host.size());
      if (std::ranges::any_of(ranks_by_host,
                              [&](const auto& h) { return h.second * nodes != ranks; }))
        file_.remark(table.line,
                     "the hosts have different numbers of ranks; equal numbers are assumed");
      return nodes;
    }
  }
  if (table.run.communicator_ranks == ranks) return table.run.communicator_nodes;
  const CommandRanks command = read_command(table.run.command);
  if (!table.run.command.empty() && command.processes && command.nodes &&
      *command.processes * command.gpus_per_process == ranks)
    return *command.nodes;
  return 0;
}

// Throws if sizes do not grow within a run; only a run that starts again may repeat sizes.
void NcclInterpreter::check_sizes(const LoggedTable& table) const {
  const LoggedRow* previous = nullptr;
  std::uint64_t first_bytes = 0;
  for (const LoggedRow& row : table.rows) {
    const bool shrinks =
        previous != nullptr && row.bytes <= previous->bytes && row.type == previous->type;
    if (previous == nullptr || row.type != previous->type) first_bytes = row.bytes;
    if (shrinks &&
        (table.run.interleaved || (row.bytes > first_bytes && row.bytes < previous->bytes)))
      throw trace::TraceError(fmt::format(
          "{}:{}: {} B after {} B: rows of several runs are mixed; give each run a file "
          "of its own (a program that was built without MPI prints a table for each "
          "process)",
          printable(file_.name), row.line, row.bytes, previous->bytes));
    previous = &row;
  }
}

void NcclInterpreter::note_gpu(const std::string& name, int line) {
  const auto is_same = [&](const LoggedGpu& gpu) {
    return gpu.name == name && gpu.file == file_.name;
  };
  if (!name.empty() && std::ranges::none_of(file_.log.gpus, is_same))
    file_.log.gpus.push_back({name, file_.name, line});
}

void NcclInterpreter::add_rows(const LoggedTable& table, Operation operation, std::uint32_t ranks,
                               std::uint32_t nodes) {
  const std::size_t first = file_.log.rows.size();
  for (const LoggedDevice& device : table.run.devices) note_gpu(device.gpu, table.line);
  for (const LoggedRow& row : table.rows)
    for (std::size_t i = 0; i < row.timed; ++i)
      file_.log.rows.push_back({operation, ranks, nodes, row.bytes, row.times.at(i).seconds.value,
                                row.times.at(i).in_place, row.type, file_.name, row.line});
  remark_falling_times(std::span(file_.log.rows).subspan(first), file_.log.remarks);
}

void NcclInterpreter::add_measurements(const LoggedTable& table) {
  const NcclEvidence evidence = evidence_of(table);
  const auto leave_out = [&](const std::string& reason) {
    file_.remark(table.line, "the table is left out: " + reason);
  };
  constexpr const char* single_rank = "a single rank sends nothing";
  if (evidence.has_one_rank()) return leave_out(single_rank);
  const NcclTest* const test = test_of(table, evidence);
  if (test == nullptr || !test->operation) {
    file_.has_unknown = true;
    return leave_out(test == nullptr ? "its operation cannot be inferred or is not predicted"
                                     : fmt::format("{}_perf is not predicted", test->name));
  }
  previous_ = test;
  if (table.columns.cpu_time)
    return leave_out("its times are CPU times (-C), not those of the operation");
  const std::uint32_t ranks = ranks_of(table, *test, evidence);
  if (ranks < 2) return leave_out(single_rank);
  if (table.run.aggregated > 1)
    file_.remark(table.line,
                 fmt::format("{} operations share one launch (-m): each takes less time "
                             "than alone",
                             table.run.aggregated));
  if (table.run.blocking)
    file_.remark(table.line,
                 "each operation waits for the previous one to end (-z): the times include "
                 "that wait");
  add_rows(table, *test->operation, ranks, nodes_of(table, ranks));
}

std::vector<NamedProgram> NcclInterpreter::take(const LoggedTable& table) {
  unused_programs_.clear();
  table.odd_rows.append_to(file_.log.remarks, file_.name);
  if (table.rows.empty()) return table.run.programs;
  check_sizes(table);
  try {
    add_measurements(table);
  } catch (const UnusableTable& table_error) {
    file_.leave_out(table_error);
  }
  return std::move(unused_programs_);
}

}  // namespace pipewright::analysis
