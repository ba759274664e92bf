#include "analysis/commlogs/logs/osu_log.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "analysis/commlogs/logs/log_remarks.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {

struct OsuTest {
  std::string_view title;  // "OSU MPI .. Test" without the fixed words.
  std::string_view program;
  Operation operation;
  // The printed size is that of one rank's part (in allgather, for example), not of all parts.
  bool sizes_are_parts = false;
  bool has_two_ranks = false;
  bool bandwidth = false;  // The column is a rate in MB/s (10^6 bytes).
};

namespace {

constexpr double osu_microsecond = 1e-6, osu_megabyte = 1e6;
// Smallest size used from bandwidth tests. They keep 64 messages in flight, so the time of a
// message is only valid where its latency is negligible.
constexpr std::uint64_t min_streamed_bytes = 1U << 20U;

constexpr std::array<OsuTest, 11> osu_tests{{
    {"Allreduce Latency", "osu_allreduce", Operation::all_reduce},
    {"Allgather Latency", "osu_allgather", Operation::all_gather, true},
    {"Reduce_scatter Latency", "osu_reduce_scatter", Operation::reduce_scatter},
    {"All-to-All Personalized Exchange Latency", "osu_alltoall", Operation::all_to_all, true},
    {"Broadcast Latency", "osu_bcast", Operation::broadcast},
    {"Reduce Latency", "osu_reduce", Operation::reduce},
    {"Gather Latency", "osu_gather", Operation::gather, true},
    {"Scatter Latency", "osu_scatter", Operation::scatter, true},
    {"Latency", "osu_latency", Operation::send_recv, false, true},
    {"Bandwidth", "osu_bw", Operation::send_recv, false, true, true},
    {"Bi-Directional Bandwidth", "osu_bibw", Operation::pairwise, false, true, true},
}};

// Returns the name of a program without "xccl_": "osu_xccl_allreduce" is "osu_allreduce" run
// through NCCL or a similar library.
std::string base_program(std::string name) {
  if (name.starts_with("osu_xccl_")) name.erase(4, 5);
  return name;
}

const OsuTest* osu_test_by_program(const std::vector<NamedProgram>& programs) {
  for (std::size_t i = programs.size(); i-- > 0;) {
    const auto match =
        std::ranges::find(osu_tests, base_program(programs[i].name), &OsuTest::program);
    if (match != osu_tests.end()) return &*match;
  }
  return nullptr;
}

const OsuTest* osu_test_by_operation(std::optional<Operation> operation) {
  const auto match = std::ranges::find_if(osu_tests, [&](const OsuTest& test) {
    return test.operation == operation && !test.has_two_ranks;
  });
  return operation && match != osu_tests.end() ? &*match : nullptr;
}

// Returns true if the words are a row of a table. Programs also print numbers in prose
// ("fi_getinfo: -61 (No data available)"), but a row has a size followed by a time with decimals.
// Text that got mixed into a row may follow a valid size; an impossible size counts as a (wrong)
// row only if all other words are numbers.
bool is_osu_row(const Words& words) {
  if (words.size() < 2 || !is_whole_number(words[0])) return false;
  const auto value = parse_printed(words[1]);
  const bool has_time =
      value && (!std::isfinite(value->value) || words[1].find('.') != std::string_view::npos);
  if (parse_whole_number(words[0])) return has_time || !value;
  return has_time && std::all_of(words.begin() + 2, words.end(),
                                 [](std::string_view word) { return parse_printed(word); });
}

}  // namespace

void OsuLog::fail(int line, const std::string& message) const {
  throw trace::TraceError(fmt::format("{}:{}: {}", printable(file_.name), line, message));
}

// Reads a title such as "# OSU MPI-CUDA Allreduce Latency Test v5.8". Versions before 2014 print no
// "MPI".
bool OsuLog::take_title(std::string_view line, int number) {
  const std::size_t start = line.find("OSU ");
  const std::size_t end = line.rfind(" Test");
  if (start == std::string_view::npos || end == std::string_view::npos || end < start + 4)
    return false;
  finish();
  std::string_view title = line.substr(start + 4, end - start - 4);
  host_memory_ = true;
  for (const std::string_view library : {"MPI", "NCCL", "RCCL", "XCCL"})
    if (title.starts_with(library)) {
      const std::string_view word = title.substr(0, title.find(' '));
      host_memory_ = word == "MPI";
      title.remove_prefix(std::min(title.size(), word.size() + 1));
      break;
    }
  title_ = std::string(title.substr(0, 80));
  header_ = number;
  return true;
}

void OsuLog::place_ranks(const LogRun& run) {
  const CommandRanks command = run.command.empty() ? CommandRanks{} : read_command(run.command);
  nodes_ = file_.hints.nodes.value_or(0);
  if (test_->has_two_ranks)
    ranks_ = 2;
  else if (file_.hints.ranks)
    ranks_ = *file_.hints.ranks;
  else if (command.processes && *command.processes > 1)
    ranks_ = *command.processes;
  else
    throw UnusableTable{header_, fmt::format("{} does not print its number of ranks; give it with "
                                             "--ranks",
                                             test_->program)};
  if (ranks_ < 2) throw UnusableTable{header_, "a single rank sends nothing"};
  if (!file_.hints.nodes && command.nodes && command.processes == ranks_) nodes_ = *command.nodes;
  const std::string node_text = nodes_ == 0 ? "" : fmt::format(" on {} nodes", nodes_);
  if (!test_->has_two_ranks && !file_.hints.ranks)
    file_.remark(header_, fmt::format("{} ranks{}, from the command", ranks_, node_text));
  else if (test_->has_two_ranks && nodes_ == 0)
    file_.remark(header_,
                 "the log does not say whether both ranks are on one node; assuming one node "
                 "(otherwise give --nodes 2)");
}

void OsuLog::read_header(const LogRun& run) {
  const auto test_by_title = std::ranges::find(osu_tests, title_, &OsuTest::title);
  if (!title_.empty()) {
    test_ = test_by_title == osu_tests.end() ? nullptr : &*test_by_title;
  } else {
    test_ = osu_test_by_program(run.programs);
    if (test_ == nullptr)
      test_ = osu_test_by_operation(file_.hints.operation ? file_.hints.operation
                                                          : operation_in_name(file_.name));
  }
  if (test_ == nullptr && title_.empty())
    throw UnusableTable{header_,
                        "the log does not name the benchmark of this table; the OSU "
                        "micro-benchmarks print '# OSU MPI Allreduce Latency Test' before it"};
  if (test_ == nullptr) {
    file_.has_unknown = true;
    return file_.remark(
        header_,
        fmt::format("the table is left out: 'OSU {} Test' is not predicted", printable(title_)));
  }
  place_ranks(run);
  if (host_memory_) file_.remark(header_, "buffers were in host memory, not in GPU memory");
  if (test_->sizes_are_parts)
    file_.remark(header_,
                 fmt::format("sizes are those of one rank's part; multiplied by {} ranks", ranks_));
  if (test_->operation == Operation::pairwise)
    file_.remark(header_,
                 "bandwidths count both directions: 2 x size / bandwidth is used as the "
                 "time of pairwise");
  else if (test_->bandwidth)
    file_.remark(header_,
                 "size / bandwidth is used as the time of send-recv, which sends both ways at "
                 "once");
  else if (test_->has_two_ranks)
    file_.remark(header_,
                 "the time of one message is used as that of send-recv, which sends both ways at "
                 "once");
}

void OsuLog::open(int number) {
  is_open_ = true;
  ++file_.tables;
  header_ = number;
  first_row_ = file_.log.rows.size();
  try {
    read_header(run_.take_run());
  } catch (const UnusableTable& table_error) {
    file_.leave_out(table_error);
    test_ = nullptr;
  }
}

void OsuLog::take_row(const Words& words, int number) {
  const auto size = parse_whole_number(words[0]);
  if (!size)
    fail(number, fmt::format("the size {} {}", printable(std::string(words[0].substr(0, 40))),
                             words[0].starts_with('-') ? "is below 0" : "is beyond 64 bits"));
  const auto value = parse_printed(words[1]);
  if (!value) return odd_rows_.add("left out (cut short or mixed with other text)", number);
  if (value->value < 0)
    fail(number,
         fmt::format("the value {} is below 0", printable(std::string(words[1].substr(0, 40)))));
  if (!std::isfinite(value->value) || value->value <= 0)
    return odd_rows_.add("left out (no time: N/A, NaN, infinite or 0)", number);
  if (*size == 0) return odd_rows_.add("left out (0 bytes)", number);
  if (test_->bandwidth && *size < min_streamed_bytes)
    return odd_rows_.add("left out (64 messages in flight hide the latency of small sizes)",
                         number);
  const std::uint64_t parts = test_->sizes_are_parts ? ranks_ : 1;
  if (*size > std::numeric_limits<std::uint64_t>::max() / parts)
    fail(number, fmt::format("the size {} x {} ranks is beyond 64 bits", *size, parts));
  Measurement row{test_->operation, ranks_, nodes_, *size * parts, 0, false, "",
                  file_.name,       number};
  const double directions = test_->operation == Operation::pairwise ? 2 : 1;
  row.seconds = test_->bandwidth
                    ? directions * static_cast<double>(*size) / (value->value * osu_megabyte)
                    : value->value * osu_microsecond;
  file_.log.rows.push_back(std::move(row));
}

bool OsuLog::take(std::string_view line, const Words& words, int number) {
  if (words.empty()) return false;
  if (line.find("OSU ") != std::string_view::npos && take_title(line, number)) return true;
  if (!title_.empty() && line.find("Buffer on") != std::string_view::npos) {
    host_memory_ = line.find("Buffer on DEVICE") == std::string_view::npos &&
                   line.find("Buffer on MANAGED") == std::string_view::npos;
    return true;
  }
  const auto size = std::ranges::find(words, "Size");
  if (words.end() - size >= 2 && size - words.begin() <= 1 &&
      (line.find("(us)") != std::string_view::npos ||
       line.find("(MB/s)") != std::string_view::npos)) {
    const std::string title = title_;
    finish();
    title_ = title;
    open(number);
    return true;
  }
  if (!is_open_ || !is_osu_row(words)) return false;
  if (test_ != nullptr) take_row(words, number);
  return true;
}

void OsuLog::finish() {
  if (is_open_ && test_ != nullptr) {
    odd_rows_.append_to(file_.log.remarks, file_.name);
    remark_falling_times(std::span(file_.log.rows).subspan(first_row_), file_.log.remarks);
  }
  odd_rows_ = {};
  is_open_ = false;
  test_ = nullptr;
  title_.clear();
}

}  // namespace pipewright::analysis
