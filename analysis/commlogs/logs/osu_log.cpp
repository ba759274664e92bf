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
  std::string_view title;  // "OSU MPI .. Test"
  std::string_view program;
  Operation operation;
  bool of_part = false;  // sizes are of what one rank has for one other, or for all
  bool two_ranks = false;
  bool bandwidth = false;  // the column is of a rate, in MB/s of 10^6 bytes
};

namespace {

constexpr double microsecond = 1e-6, megabyte = 1e6;
// 64 messages are on their way at once: the time of one of them shows only where its latency is
// little beside it.
constexpr std::uint64_t least_streamed = 1U << 20U;

constexpr std::array<OsuTest, 11> tests{{
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

// "osu_xccl_allreduce" is "osu_allreduce" through NCCL or its like.
std::string plain_program(std::string name) {
  if (name.starts_with("osu_xccl_")) name.erase(4, 5);
  return name;
}

const OsuTest* by_program(const std::vector<NamedProgram>& programs) {
  for (std::size_t i = programs.size(); i-- > 0;) {
    const auto found = std::ranges::find(tests, plain_program(programs[i].name), &OsuTest::program);
    if (found != tests.end()) return &*found;
  }
  return nullptr;
}

const OsuTest* by_operation(std::optional<Operation> operation) {
  const auto found = std::ranges::find_if(
      tests, [&](const OsuTest& test) { return test.operation == operation && !test.two_ranks; });
  return operation && found != tests.end() ? &*found : nullptr;
}

// Programs say numbers in prose too ("fi_getinfo: -61 (No data available)"), but a row has a time
// with decimals behind its size. A size that can be may stand before text that got into the row;
// one that cannot be is a wrong row only where all else is a row's.
bool is_row(const Words& words) {
  if (words.size() < 2 || !is_whole_number(words[0])) return false;
  const auto value = parse_printed(words[1]);
  const bool has_time =
      value && (!std::isfinite(value->value) || words[1].find('.') != std::string_view::npos);
  if (parse_whole_number(words[0])) return has_time || !value;
  return has_time && std::all_of(words.begin() + 2, words.end(),
                                 [](std::string_view word) { return parse_printed(word); });
}

}  // namespace

void OsuLog::fail(int line, const std::string& what) const {
  throw trace::TraceError(fmt::format("{}:{}: {}", printable(file_.name), line, what));
}

// "# OSU MPI-CUDA Allreduce Latency Test v5.8", and before 2014 without "MPI".
bool OsuLog::take_title(std::string_view line, int number) {
  const std::size_t at = line.find("OSU ");
  const std::size_t end = line.rfind(" Test");
  if (at == std::string_view::npos || end == std::string_view::npos || end < at + 4) return false;
  finish();
  std::string_view title = line.substr(at + 4, end - at - 4);
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
  if (test_->two_ranks)
    ranks_ = 2;
  else if (file_.hints.ranks)
    ranks_ = *file_.hints.ranks;
  else if (command.processes && *command.processes > 1)
    ranks_ = *command.processes;
  else
    throw Unusable{header_, fmt::format("{} does not print how many ranks it has; say it with "
                                        "--ranks",
                                        test_->program)};
  if (ranks_ < 2) throw Unusable{header_, "one rank sends nothing"};
  if (!file_.hints.nodes && command.nodes && command.processes == ranks_) nodes_ = *command.nodes;
  const std::string over = nodes_ == 0 ? "" : fmt::format(" on {} nodes", nodes_);
  if (!test_->two_ranks && !file_.hints.ranks)
    file_.remark(header_, fmt::format("{} ranks{}, by the command", ranks_, over));
  else if (test_->two_ranks && nodes_ == 0)
    file_.remark(header_,
                 "no line says whether both ranks are on one node; taken as if they were "
                 "(else say --nodes 2)");
}

void OsuLog::read_header(const LogRun& run) {
  const auto titled = std::ranges::find(tests, title_, &OsuTest::title);
  if (!title_.empty()) {
    test_ = titled == tests.end() ? nullptr : &*titled;
  } else {
    test_ = by_program(run.programs);
    if (test_ == nullptr)
      test_ = by_operation(file_.hints.operation ? file_.hints.operation
                                                 : operation_in_name(file_.name));
  }
  if (test_ == nullptr && title_.empty())
    throw Unusable{header_,
                   "no line says which benchmark this table is of; the OSU "
                   "micro-benchmarks print '# OSU MPI Allreduce Latency Test' before it"};
  if (test_ == nullptr) {
    file_.has_unknown = true;
    return file_.remark(
        header_,
        fmt::format("the table is left out: 'OSU {} Test' is not predicted", printable(title_)));
  }
  place_ranks(run);
  if (host_memory_) file_.remark(header_, "its buffers were in host memory, not in GPUs'");
  if (test_->of_part)
    file_.remark(header_,
                 fmt::format("sizes are of one rank's part: multiplied by {} ranks", ranks_));
  if (test_->operation == Operation::pairwise)
    file_.remark(header_,
                 "bandwidths are of both ways together: 2 x size / bandwidth is taken as the "
                 "time of pairwise");
  else if (test_->bandwidth)
    file_.remark(header_,
                 "size / bandwidth is taken as the time of send-recv, which is both ways at "
                 "once");
  else if (test_->two_ranks)
    file_.remark(header_,
                 "one message, one way at a time, is taken as send-recv, which is both ways at "
                 "once");
}

void OsuLog::open(int number) {
  open_ = true;
  ++file_.tables;
  header_ = number;
  first_ = file_.log.rows.size();
  try {
    read_header(run_.take_run());
  } catch (const Unusable& found) {
    file_.leave_out(found);
    test_ = nullptr;
  }
}

void OsuLog::take_row(const Words& words, int number) {
  const auto size = parse_whole_number(words[0]);
  if (!size)
    fail(number, fmt::format("the size {} {}", printable(std::string(words[0].substr(0, 40))),
                             words[0].starts_with('-') ? "is below 0" : "is beyond 64 bits"));
  const auto value = parse_printed(words[1]);
  if (!value) return odd_rows_.add("left out: cut short or mixed with other text", number);
  if (value->value < 0)
    fail(number, fmt::format("{} is below 0", printable(std::string(words[1].substr(0, 40)))));
  if (!std::isfinite(value->value) || value->value <= 0)
    return odd_rows_.add("left out: no time (N/A, NaN, infinite or 0)", number);
  if (*size == 0) return odd_rows_.add("left out: of 0 bytes", number);
  if (test_->bandwidth && *size < least_streamed)
    return odd_rows_.add("left out: 64 messages at once hide the latency of small ones", number);
  const std::uint64_t parts = test_->of_part ? ranks_ : 1;
  if (*size > std::numeric_limits<std::uint64_t>::max() / parts)
    fail(number, fmt::format("the size {} x {} ranks is beyond 64 bits", *size, parts));
  Measurement row{test_->operation, ranks_, nodes_, *size * parts, 0, false, "",
                  file_.name,       number};
  const double ways = test_->operation == Operation::pairwise ? 2 : 1;
  row.seconds = test_->bandwidth ? ways * static_cast<double>(*size) / (value->value * megabyte)
                                 : value->value * microsecond;
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
  if (!open_ || !is_row(words)) return false;
  if (test_ != nullptr) take_row(words, number);
  return true;
}

void OsuLog::finish() {
  if (open_ && test_ != nullptr) {
    odd_rows_.append_to(file_.log.remarks, file_.name);
    remark_falling_times(std::span(file_.log.rows).subspan(first_), file_.log.remarks);
  }
  odd_rows_ = {};
  open_ = false;
  test_ = nullptr;
  title_.clear();
}

}  // namespace pipewright::analysis
