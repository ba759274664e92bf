#include "sim/cli/run/run_together.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include <boost/any.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/sharing.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "analysis/web/page.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/run/run_options.hpp"
#include "sim/cli/run/together_options.hpp"
#include "sim/evaluation/sharing/sweep_phases.hpp"

namespace pipewright::cli {
namespace {

using evaluation::JointRun;
using std::filesystem::path;

// Options that need a single scenario.
constexpr std::array single_run_options{"repeat", "launch",      "tokens",  "price",
                                        "power",  "require-fit", "details", "steady-state"};

std::vector<std::string> files_of(const po::variables_map& flags) {
  std::vector<std::string> files = values(flags, "scenario");
  for (const std::string& file : values(flags, "config")) files.push_back(file);
  if (files.size() < 2)
    throw UsageError(
        "run --together needs two or more scenarios, as in 'pipewright run pretrain.yaml "
        "finetune.yaml --cluster fat-tree.xml --together'");
  return files;
}

// Jobs are named after their files; a second job of the same name is "gpt-2".
std::vector<evaluation::NamedTree> trees_of_jobs(const po::variables_map& flags) {
  std::vector<evaluation::NamedTree> jobs;
  std::map<std::string, int> uses;
  for (const std::string& file : files_of(flags)) {
    po::variables_map job_flags = flags;
    job_flags.erase("config");
    job_flags.erase("output");
    job_flags.erase("scenario");
    job_flags.emplace("scenario",
                      po::variable_value(boost::any(std::vector<std::string>{file}), false));
    std::string name = path(file).stem().string();
    if (const int number = ++uses[name]; number > 1) name += fmt::format("-{}", number);
    jobs.push_back({name, run_tree(job_flags)});
  }
  return jobs;
}

// Name of the trace file of a job, which contains the job's name: "trace-pretrain.h5".
path trace_file(const path& file, const std::string& job) {
  const std::string stem = fmt::format("{}-{}", file.stem().string(), job);
  return path(file).replace_filename(stem + file.extension().string());
}

std::vector<Output> outputs_of(const po::variables_map& flags) {
  std::vector<path> files;
  for (const std::string& file : values(flags, "output")) files.emplace_back(file);
  std::vector<Output> outputs = parse_outputs(files);
  for (const Output& output : outputs)
    if (output.kind != OutputKind::html && output.kind != OutputKind::json)
      throw UsageError(fmt::format("{}: run --together writes .html and .json files only",
                                   output.file.string()));
  return outputs;
}

analysis::Sharing sweep(JointRun& run, const po::variables_map& flags, bool visible) {
  ProgressBar bar("together", visible);
  evaluation::PhaseSweepOptions sweep{.phases = phases_of(flags), .jobs = count_jobs(flags)};
  sweep.on_progress = [&](std::size_t done, std::size_t of) {
    throw_if_interrupted();
    if (bar.is_due())
      bar.draw(std::min(1.0, static_cast<double>(done) / static_cast<double>(of)),
               fmt::format("{} of {} simulations", done, of));
  };
  return evaluation::sweep_phases(run, sweep);
}

std::vector<std::string> notes_of_memory(const analysis::Sharing& sharing) {
  std::vector<std::string> notes;
  for (const analysis::SharingJob& job : sharing.jobs)
    if (job.memory_capacity_bytes > 0 && job.peak_memory_bytes > job.memory_capacity_bytes)
      notes.push_back(fmt::format("{} does not fit: a device needs {} and has {}", job.name,
                                  analysis::format_bytes(job.peak_memory_bytes),
                                  analysis::format_bytes(job.memory_capacity_bytes)));
  return notes;
}

std::vector<double> worst_offsets(const analysis::Sharing& sharing) {
  std::vector<double> offsets(sharing.jobs.size());
  if (!sharing.phases.empty())
    std::ranges::transform(sharing.worst().jobs, offsets.begin(), &analysis::JobInPhase::offset_s);
  return offsets;
}

// Writes the trace of a job. Its network's name lists the other jobs.
void write_trace(trace::Trace rows, const analysis::Sharing& sharing, std::size_t job,
                 const path& file) {
  for (std::size_t peer = 0; peer < sharing.jobs.size(); ++peer)
    if (peer != job) rows.run.network += fmt::format(", beside {}", sharing.jobs[peer].name);
  trace::TraceWriter writer(file);
  trace::replay(rows, writer);
}

analysis::AtOnce at_once(const analysis::Sharing& sharing) {
  analysis::AtOnce page{.names = {}, .starts_s = worst_offsets(sharing), .words = {}};
  std::vector<std::string> words{
      fmt::format("at once on {}, {}", sharing.cluster, sharing.placing)};
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
    page.names.push_back(sharing.jobs[i].name);
    const double slow_down = sharing.phases.empty() ? 1 : sharing.worst().jobs[i].slow_down();
    words.push_back(fmt::format(
        "{} takes {:.3f} times as long as alone{}", sharing.jobs[i].name, slow_down,
        page.starts_s[i] > 0
            ? fmt::format(" and starts {} later", analysis::format_seconds(page.starts_s[i]))
            : ""));
  }
  page.words = fmt::format("{}{}", fmt::join(words, "; "),
                           sharing.phases.size() > 1 ? ": the worst phase" : "");
  return page;
}

}  // namespace

int run_together(const po::variables_map& flags) {
  for (const char* const option : single_run_options)
    if (flags.count(option) != 0)
      throw UsageError(fmt::format("--{} needs a single scenario", option))
          .suggest("leave out --together");
  const bool json = flags.count("json") != 0;
  const bool visible = !json && flags.count("quiet") == 0;
  const std::vector<Output> outputs = outputs_of(flags);
  const evaluation::Placing placing = placing_of(flags);
  phases_of(flags);
  watch_for_interrupts(interrupt_grace);  // planning does not poll
  std::vector<evaluation::NamedTree> jobs = trees_of_jobs(flags);
  std::vector<path> traces;
  if (const std::vector<std::string> words = values(flags, "trace"); !words.empty())
    for (const evaluation::NamedTree& job : jobs)
      traces.push_back(trace_file(single(words, "--trace"), job.name));
  std::vector<path> written = traces;
  for (const Output& output : outputs) written.push_back(output.file);
  std::vector<path> read;
  for (const std::string& file : files_of(flags)) read.emplace_back(file);
  check_files(read, written);

  JointRun run(std::move(jobs), placing);
  if (visible) print_notes(run.notes());
  analysis::Sharing sharing = sweep(run, flags, visible);
  sharing.placing = placing == evaluation::Placing::interleaved ? "interleaved" : "side by side";

  print_notes(notes_of_memory(sharing));
  const bool draws = std::ranges::any_of(
      outputs, [](const Output& output) { return output.kind == OutputKind::html; });
  std::vector<trace::Trace> rows;
  if (draws || !traces.empty()) rows = run.traces(worst_offsets(sharing));
  for (std::size_t i = 0; i < traces.size(); ++i) write_trace(rows[i], sharing, i, traces[i]);
  fmt::print("{}", json ? analysis::sharing_json(sharing) : analysis::sharing_text(sharing));
  OutputFiles output_files;
  for (const Output& output : outputs)
    output_files.write(output.file, [&] {
      if (output.kind == OutputKind::html)
        analysis::write_page(rows, at_once(sharing), output.file);
      else
        trace::write_file(output.file, analysis::sharing_json(sharing));
    });
  if (json) return output_files.status(exit_ok);
  for (const path& file : traces) fmt::print("trace   {}\n", file.string());
  output_files.print_written();
  return output_files.status(exit_ok);
}

}  // namespace pipewright::cli
