#include "analysis/commlogs/logs/nccl_meaning.hpp"

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

// Those that commands run if there are any; else those that are mentioned, as where a program is
// linked.
std::vector<NamedProgram> commands_among(const std::vector<NamedProgram>& programs) {
  std::vector<NamedProgram> commands;
  for (const bool with_options : {true, false}) {
    for (const NamedProgram& program : programs)
      if (program.with_options >= with_options && find_nccl_test(program.name) != nullptr)
        commands.push_back(program);
    if (!commands.empty()) break;
  }
  return commands;
}

// Of those that are predicted. A table of pairwise, which is a send-recv's, must be named. Where no
// column could tell of a root, of those that have one only broadcast is thought of.
std::vector<const NcclTest*> possible_tests(const NcclEvidence& evidence) {
  std::vector<const NcclTest*> possible;
  for (const NcclTest& test : nccl_tests())
    if (test.operation && test.operation != Operation::pairwise && evidence.allows(test) &&
        (!test.rooted || evidence.roots_known || test.operation == Operation::broadcast))
      possible.push_back(&test);
  const auto suggested = [&](const NcclTest* test) { return evidence.suggests(*test); };
  if (std::ranges::any_of(possible, suggested))
    std::erase_if(possible, [&](const NcclTest* test) { return !suggested(test); });
  return possible;
}

// The group of the first rank, whose times are printed.
std::vector<const LoggedDevice*> first_group(const std::vector<LoggedDevice>& devices) {
  std::vector<const LoggedDevice*> group;
  for (const LoggedDevice& device : devices)
    if (device.group == devices.front().group) group.push_back(&device);
  return group;
}

bool complete(const std::vector<LoggedDevice>& devices) {
  std::set<std::uint32_t> ranks;
  for (const LoggedDevice& device : devices) ranks.insert(device.rank);
  return !ranks.empty() && *ranks.begin() == 0 && *ranks.rbegin() + 1 == ranks.size();
}

}  // namespace

const NcclTest* NcclMeaning::named_test(const LoggedTable& table, const NcclEvidence& evidence) {
  for (const std::string& name : {table.run.started, table.concluded})
    if (const NcclTest* const test = find_nccl_test(name)) return test;
  std::vector<NamedProgram> programs = commands_among(table.run.programs);
  if (programs.empty()) return nullptr;
  auto chosen = std::ranges::find_if(programs, [&](const NamedProgram& program) {
    return evidence.allows(*find_nccl_test(program.name));
  });
  if (chosen == programs.end()) chosen = programs.begin();
  const NcclTest* const test = find_nccl_test(chosen->name);
  const bool several = std::ranges::any_of(
      programs, [&](const NamedProgram& program) { return program.name != test->name; });
  if (several) {  // a script that is printed before its output
    later_.assign(chosen + 1, programs.end());
    file_.remark(table.line,
                 fmt::format("several programs are named before the table; taken as that of "
                             "{}_perf",
                             test->name));
  }
  return test;
}

const NcclTest* NcclMeaning::unnamed_test(const LoggedTable& table, const NcclEvidence& evidence) {
  const auto possible = possible_tests(evidence);
  const auto among = [&](const NcclTest* test) {
    return test != nullptr && std::ranges::find(possible, test) != possible.end();
  };
  if (possible.size() == 1) {
    file_.remark(table.line, fmt::format("no program is named; by its columns and rates this is {}",
                                         to_string(*possible.front()->operation)));
    return possible.front();
  }
  if (among(previous_)) {
    file_.remark(table.line, fmt::format("no program is named; taken as {}, as the table before",
                                         to_string(*previous_->operation)));
    return previous_;
  }
  const auto in_name = operation_in_name(file_.name);
  for (const NcclTest* const test : possible)
    if (in_name && test->operation == in_name) {
      file_.remark(table.line,
                   fmt::format("no program is named; {}, by the file's name", to_string(*in_name)));
      return test;
    }
  if (possible.empty()) return nullptr;
  std::string names;
  for (const NcclTest* const test : possible)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(*test->operation));
  throw Unusable{table.line, fmt::format("no line says which operation this table is of; by its "
                                         "numbers it may be {}; say which with --op",
                                         names)};
}

const NcclTest* NcclMeaning::test_of(const LoggedTable& table, const NcclEvidence& evidence) {
  const auto by_operation = [](Operation operation) {
    const auto found = std::ranges::find(nccl_tests(), operation, &NcclTest::operation);
    return found == nccl_tests().end() ? nullptr : &*found;
  };
  if (const NcclTest* const hinted =
          file_.hints.operation ? by_operation(*file_.hints.operation) : nullptr) {
    if (evidence.allows(*hinted)) return hinted;
    file_.remark(table.line,
                 fmt::format("its columns or rates are not those of {}, which is not taken",
                             to_string(*file_.hints.operation)));
  }
  const NcclTest* const named = named_test(table, evidence);
  if (named == nullptr) return unnamed_test(table, evidence);
  if (evidence.allows(*named)) return named;
  const auto possible = possible_tests(evidence);
  const NcclTest* const taken = possible.size() == 1 ? possible.front() : named;
  file_.remark(table.line,
               fmt::format("this should be {}_perf, whose columns and rates are others; taken "
                           "as {}_perf",
                           named->name, taken->name));
  return taken;
}

std::uint32_t NcclMeaning::ranks_of(const LoggedTable& table, const NcclTest& test,
                                    const NcclEvidence& evidence) {
  if (file_.hints.ranks && evidence.allows(test, *file_.hints.ranks)) return *file_.hints.ranks;
  if (file_.hints.ranks)
    file_.remark(table.line,
                 fmt::format("its rates or counts are not of {} ranks, which are not taken",
                             *file_.hints.ranks));
  const auto of_numbers = evidence.ranks_of(test);
  const auto& devices = table.run.devices;
  if (!devices.empty()) {
    const bool all = complete(devices);
    const auto group = static_cast<std::uint32_t>(first_group(devices).size());
    const auto last = std::ranges::max_element(devices, {}, &LoggedDevice::rank)->rank + 1;
    const std::uint32_t listed = all ? group : last;
    if (evidence.allows(test, listed)) return listed;
    if (listed == 1 && !of_numbers) return 1;
    if (all || of_numbers)
      file_.remark(table.line,
                   fmt::format("the log lists {} ranks, but the rates and counts are of {}", listed,
                               of_numbers ? std::to_string(*of_numbers) : "others"));
  }
  const std::uint32_t communicator = table.run.communicator_ranks;
  if (communicator > 0 && (communicator == 1 || evidence.allows(test, communicator))) {
    file_.remark(table.line, fmt::format("{} ranks, by NCCL's 'nRanks'", communicator));
    return communicator;
  }
  if (of_numbers) {
    file_.remark(table.line, fmt::format("{} ranks, by the table's rates or counts", *of_numbers));
    return *of_numbers;
  }
  const CommandRanks command = read_command(table.run.command);
  if (!table.run.command.empty() && command.processes) {
    const std::uint32_t ranks = *command.processes * command.gpus_per_process;
    if (evidence.allows(test, ranks)) {
      file_.remark(table.line, fmt::format("{} ranks, by the command", ranks));
      return ranks;
    }
  }
  throw Unusable{table.line, fmt::format("no line says how many ranks this table of {}_perf is of; "
                                         "say it with --ranks, or leave the list of devices before "
                                         "the table",
                                         test.name)};
}

std::uint32_t NcclMeaning::nodes_of(const LoggedTable& table, std::uint32_t ranks) {
  if (file_.hints.nodes) return *file_.hints.nodes;
  const auto& devices = table.run.devices;
  if (!devices.empty() && complete(devices)) {
    const auto group = first_group(devices);
    if (group.size() != devices.size())
      file_.remark(table.line,
                   fmt::format("groups of ranks worked at the same time, this one of {} of "
                               "{}; it is taken as if it had been alone",
                               group.size(), devices.size()));
    if (group.size() == ranks) {
      std::map<std::string_view, std::uint32_t> of_host;
      for (const LoggedDevice* const device : group) ++of_host[device->host];
      const auto nodes = static_cast<std::uint32_t>(of_host.size());
      if (std::ranges::any_of(of_host, [&](const auto& h) { return h.second * nodes != ranks; }))
        file_.remark(table.line,
                     "the hosts do not have equally many ranks; they are taken as if they had");
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

// A run's sizes grow; where it repeats them it begins anew.
void NcclMeaning::check_sizes(const LoggedTable& table) const {
  const LoggedRow* before = nullptr;
  std::uint64_t first = 0;
  for (const LoggedRow& row : table.rows) {
    const bool back = before != nullptr && row.bytes <= before->bytes && row.type == before->type;
    if (before == nullptr || row.type != before->type) first = row.bytes;
    if (back && (table.run.interleaved || (row.bytes > first && row.bytes < before->bytes)))
      throw trace::TraceError(fmt::format(
          "{}:{}: {} B after {} B: rows of several runs are mixed; give each run a file "
          "of its own (a program that was built without MPI prints a table for each "
          "process)",
          printable(file_.name), row.line, row.bytes, before->bytes));
    before = &row;
  }
}

void NcclMeaning::add_rows(const LoggedTable& table, Operation operation, std::uint32_t ranks,
                           std::uint32_t nodes) {
  const std::size_t first = file_.log.rows.size();
  for (const LoggedRow& row : table.rows)
    for (std::size_t i = 0; i < row.timed; ++i)
      file_.log.rows.push_back({operation, ranks, nodes, row.bytes, row.times.at(i).seconds.value,
                                row.times.at(i).in_place, row.type, file_.name, row.line});
  remark_falling_times(std::span(file_.log.rows).subspan(first), file_.log.remarks);
}

void NcclMeaning::take_useful(const LoggedTable& table) {
  const NcclEvidence evidence = evidence_of(table);
  const auto leave_out = [&](const std::string& why) {
    file_.remark(table.line, "the table is left out: " + why);
  };
  constexpr const char* one_rank = "it is of one rank, to which nothing is sent";
  if (evidence.one_rank()) return leave_out(one_rank);
  const NcclTest* const test = test_of(table, evidence);
  if (test == nullptr || !test->operation) {
    file_.has_unknown = true;
    return leave_out(test == nullptr ? "it is of another operation than those that are predicted"
                                     : fmt::format("{}_perf is not predicted", test->name));
  }
  previous_ = test;
  if (table.has.cpu_time) return leave_out("its times are the CPU's (-C), not the operation's");
  const std::uint32_t ranks = ranks_of(table, *test, evidence);
  if (ranks < 2) return leave_out(one_rank);
  if (table.run.aggregated > 1)
    file_.remark(table.line,
                 fmt::format("{} operations at a time are one launch (-m): each takes less "
                             "than alone",
                             table.run.aggregated));
  if (table.run.blocking)
    file_.remark(table.line,
                 "each operation waited for the end of the one before (-z): the times hold "
                 "that wait");
  add_rows(table, *test->operation, ranks, nodes_of(table, ranks));
}

std::vector<NamedProgram> NcclMeaning::take(const LoggedTable& table) {
  later_.clear();
  table.odd_rows.append_to(file_.log.remarks, file_.name);
  if (table.rows.empty()) return table.run.programs;
  check_sizes(table);
  try {
    take_useful(table);
  } catch (const Unusable& found) {
    file_.leave_out(found);
  }
  return std::move(later_);
}

}  // namespace pipewright::analysis
