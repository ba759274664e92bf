#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "sim/cli/guard.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/mpi/mpi_workers.hpp"
#include "sim/mpi/rank.hpp"
#include "sim/search/workers.hpp"

namespace {

using namespace pipewright;

constexpr const char* program = "pipewright-mpi";

// What pipewright-mpi takes before the command.
struct Options {
  bool help = false;
  std::filesystem::path worker;  // the program that serves a search
  double silence_s = 15;         // after which a rank is lost
  cli::Arguments search;         // what `pipewright search` takes
};

double read_seconds(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  constexpr double least = 3;  // ranks speak once a second
  constexpr double most = 1e9;
  const bool right = error == std::errc() && stop == end && seconds >= least && seconds <= most;
  if (!right)
    throw cli::UsageError(
        fmt::format("--lost-after is '{}'; it must be seconds, {:g} at least", text, least));
  return seconds;
}

// Installed together, they stay together.
std::filesystem::path beside_this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "pipewright";
}

// Throws cli::UsageError.
Options read_options(const cli::Arguments& words) {
  Options options;
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with("-"); ++at) {
    const std::string& word = words[at];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return options;
    }
    if (word != "--worker" && word != "--lost-after")
      throw cli::UsageError(fmt::format(
          "before the command stand --worker or --lost-after, not '{}'; options of the search come "
          "after 'search'",
          word));
    if (++at == words.size()) throw cli::UsageError(fmt::format("{} needs a value", word));
    if (word == "--worker")
      options.worker = words[at];
    else
      options.silence_s = read_seconds(words[at]);
  }
  if (at == words.size() || words[at] != "search")
    throw cli::UsageError(
        "the only command of pipewright-mpi is 'search'; see 'pipewright-mpi --help'");
  if (options.worker.empty()) options.worker = beside_this_program();
  options.search.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  return options;
}

void print_help() {
  fmt::print(
      "usage: mpirun -n RANKS pipewright-mpi [--worker PATH] [--lost-after SECONDS]\n"
      "           search SWEEP [OPTIONS]\n\n"
      "'pipewright search' on many machines. Rank 0 hands out the work and writes all files; "
      "every\n"
      "other rank is a worker with one core of its own. Rank 0 needs little of a core, so start\n"
      "one rank more than there are cores. SWEEP and OPTIONS are those of 'pipewright search\n"
      "--help'; only rank 0 reads and writes files. With one rank, it starts the workers itself, "
      "as\n"
      "many as --jobs says.\n\n"
      "  mpirun -n 65 --hostfile hosts pipewright-mpi search sweep.yaml -o sweep.html\n"
      "  srun -n 65 pipewright-mpi search sweep.yaml --results sweep.h5\n\n"
      "A simulation that crashes, and a worker that does, cost nothing but their own time. So "
      "that\n"
      "a whole rank may die as well, tell the launcher not to end the others:\n\n"
      "  mpirun --enable-recovery -n 65 pipewright-mpi search sweep.yaml --results sweep.h5\n"
      "  srun --kill-on-bad-exit=0 -n 65 pipewright-mpi search sweep.yaml --results sweep.h5\n\n"
      "Open MPI's mpirun then always ends with status 0; what rank 0 prints last says more. If "
      "all\n"
      "is lost, with rank 0 or a node, the same command with --resume goes on from what --results\n"
      "keeps. On Ctrl-C and SIGTERM, results are written; mpirun gives that one second, or "
      "more:\n\n"
      "  mpirun --mca odls_base_sigkill_timeout 30 -n 65 pipewright-mpi search sweep.yaml\n\n"
      "options:\n"
      "  --worker PATH         the program that ranks start (the pipewright beside this one)\n"
      "  --lost-after SECONDS  a rank that is silent for so long has died or hangs; without rank "
      "0,\n"
      "                        all end (15)\n"
      "  -h, --help            this text\n");
}

// A launcher that MPI does not know leaves each process alone: all would do the same search.
void check_launcher() {
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const bool is_alone = mpi::rank_count() == 1 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
  if (is_alone && tasks != nullptr && std::string_view(tasks) != "1")
    throw cli::UsageError(fmt::format(
        "srun started {} tasks, but MPI knows of one; 'srun --mpi=list' shows what srun offers, "
        "and one of these, such as --mpi=pmix, must be what MPI was built for",
        tasks));
}

int coordinate(mpi::Messages& messages, const cli::Arguments& words) {
  const Options options = read_options(words);
  if (options.help) {
    print_help();
    return cli::exit_ok;
  }
  check_launcher();
  const auto is_given = [&](const char* option) {
    return std::find(options.search.begin(), options.search.end(), option) != options.search.end();
  };
  const auto make_workers =
      [&](const cli::WorkerSettings& settings) -> std::unique_ptr<search::Workers> {
    std::vector<std::string> command = cli::worker_words(settings);
    command.insert(command.begin(), options.worker.string());
    if (mpi::rank_count() == 1)
      return std::make_unique<search::LocalWorkers>(settings.jobs, command);
    if (!is_given("--quiet"))
      fmt::print(stderr, "{}: rank 0 hands out the work, {} others do it\n", program,
                 mpi::rank_count() - 1);
    return std::make_unique<mpi::MpiWorkers>(messages, command, options.silence_s);
  };
  return cli::sweep_command(options.search, {.make_workers = make_workers});
}

// What is wrong with the words, rank 0 says.
double patience_of(const cli::Arguments& words) {
  if (!mpi::has_threads()) return mpi::long_patience;
  try {
    return read_options(words).silence_s;
  } catch (const cli::UsageError&) {
    return Options().silence_s;
  }
}

int serve(mpi::Messages& messages, const cli::Arguments& words) {
  // The launcher tells all ranks to end; rank 0 then has something to write first, and they wait.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  const auto make_worker = [](const std::vector<std::string>& command) {
    return std::make_unique<search::LocalWorkers>(1, command);
  };
  if (!mpi::serve_rank(messages, make_worker, patience_of(words))) std::_Exit(cli::exit_ok);
  return cli::exit_ok;
}

}  // namespace

int main(int count, char** words) {
  // Processes are started as MPI allows it: they do nothing but become another program.
  setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);
  mpi::begin(&count, &words);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  mpi::Messages messages;
  const bool is_first = mpi::own_rank() == 0;
  const cli::Arguments arguments(words + 1, words + count);
  const int status = cli::guarded(program, [&] {
    if (!is_first) return serve(messages, arguments);
    const mpi::Heartbeat heartbeat(messages);
    return coordinate(messages, arguments);
  });
  if (is_first) return mpi::finish(messages, status);
  if (status != cli::exit_ok) std::_Exit(status);  // MPI_Finalize might wait for rank 0 forever
  MPI_Finalize();
  return status;
}
