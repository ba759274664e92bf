#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "sim/base/numbers.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/mpi/mpi_workers.hpp"
#include "sim/mpi/rank.hpp"
#include "sim/search/workers.hpp"

namespace {

using namespace pipewright;

constexpr const char* program = "pipewright-mpi";

// Parsed command line of pipewright-mpi.
struct Options {
  bool help = false;
  std::filesystem::path worker;  // program that serves a search
  double silence_s = 15;         // a rank that is silent for longer is lost
  cli::Arguments search;         // arguments of `pipewright search`
};

double read_seconds(const std::string& text) {
  const std::optional<double> seconds = base::parse_number<double>(text);
  constexpr double min_seconds = 3;  // ranks send `alive` once a second
  constexpr double max_seconds = 1e9;
  const bool is_valid = seconds && *seconds >= min_seconds && *seconds <= max_seconds;
  if (!is_valid)
    throw cli::UsageError(fmt::format("--lost-after is '{}'", text))
        .allow(fmt::format("at least {:g} (seconds)", min_seconds));
  return *seconds;
}

// Path of the `pipewright` program in the folder of this program.
std::filesystem::path pipewright_beside_this_program() {
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
      throw cli::UsageError(fmt::format("unknown option '{}' before the command", word))
          .suggest("put options of the search after 'search'")
          .allow("--worker and --lost-after");
    if (++at == words.size()) throw cli::UsageError(fmt::format("{} needs a value", word));
    if (word == "--worker")
      options.worker = words[at];
    else
      options.silence_s = read_seconds(words[at]);
  }
  if (at == words.size() || words[at] != "search")
    throw cli::UsageError("the only command of pipewright-mpi is 'search'")
        .suggest("see 'pipewright-mpi --help'");
  if (options.worker.empty()) options.worker = pipewright_beside_this_program();
  options.search.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  return options;
}

void print_help() {
  fmt::print(
      "usage: mpirun -n RANKS pipewright-mpi [--worker PATH] [--lost-after SECONDS]\n"
      "           search SWEEP [OPTIONS]\n\n"
      "Runs 'pipewright search' on many machines. Rank 0 assigns the work and writes all files;\n"
      "every other rank is a worker with one core. Rank 0 needs little of a core, so start one\n"
      "rank more than there are cores. SWEEP and OPTIONS are those of 'pipewright search --help';\n"
      "only rank 0 reads and writes files. A single rank starts --jobs workers itself.\n\n"
      "  mpirun -n 65 --hostfile hosts pipewright-mpi search sweep.yaml -o sweep.html\n"
      "  srun -n 65 pipewright-mpi search sweep.yaml --results sweep.h5\n\n"
      "The search goes on when a simulation or a worker crashes. Let it survive the death of a\n"
      "whole rank, too, by telling the launcher not to end the other ranks:\n\n"
      "  mpirun --enable-recovery -n 65 pipewright-mpi search sweep.yaml --results sweep.h5\n"
      "  srun --kill-on-bad-exit=0 -n 65 pipewright-mpi search sweep.yaml --results sweep.h5\n\n"
      "Open MPI's mpirun then always ends with status 0; rank 0 prints the status last. After the\n"
      "loss of rank 0 or of a node, the same command with --resume continues from --results. On\n"
      "Ctrl-C and SIGTERM the results are written; mpirun allows one second for that, or more\n"
      "with:\n\n"
      "  mpirun --mca odls_base_sigkill_timeout 30 -n 65 pipewright-mpi search sweep.yaml\n\n"
      "options:\n"
      "  --worker PATH         program that ranks start (the pipewright beside this one)\n"
      "  --lost-after SECONDS  time after which a silent rank counts as dead; all ranks end when\n"
      "                        rank 0 is silent for so long (15)\n"
      "  -h, --help            print this help\n");
}

// Throws UsageError if srun started several tasks that MPI does not connect: each of them would run
// the whole search by itself.
void check_launcher() {
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const bool is_alone = mpi::rank_count() == 1 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
  if (is_alone && tasks != nullptr && std::string_view(tasks) != "1")
    throw cli::UsageError(fmt::format(
        "srun started {} tasks, but MPI sees one; start them with the interface that MPI was built "
        "for, such as --mpi=pmix ('srun --mpi=list' shows those of srun)",
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
      [&](const worker::WorkerSettings& settings) -> std::unique_ptr<search::Workers> {
    std::vector<std::string> command = cli::worker_words(settings);
    command.insert(command.begin(), options.worker.string());
    if (mpi::rank_count() == 1)
      return std::make_unique<search::LocalWorkers>(settings.jobs, command);
    if (!is_given("--quiet"))
      fmt::print(stderr, "{}: rank 0 assigns the work, {} other ranks do it\n", program,
                 mpi::rank_count() - 1);
    return std::make_unique<mpi::MpiWorkers>(messages, command, options.silence_s);
  };
  return cli::sweep_command(options.search, {.make_workers = make_workers});
}

// Seconds without a message from rank 0 after which a rank gives up. Wrong arguments are ignored,
// because rank 0 reports them.
double patience_of(const cli::Arguments& words) {
  if (!mpi::has_threads()) return mpi::long_patience;
  try {
    return read_options(words).silence_s;
  } catch (const cli::UsageError&) {
    return Options().silence_s;
  }
}

int serve(mpi::Messages& messages, const cli::Arguments& words) {
  // The launcher sends signals to all ranks. Ranks other than 0 ignore them and wait until rank 0
  // has written its results.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  const auto make_worker = [](const std::vector<std::string>& command) {
    return std::make_unique<search::LocalWorkers>(1, command);
  };
  if (!mpi::serve_rank(messages, make_worker, patience_of(words))) std::_Exit(cli::exit_ok);
  return cli::exit_ok;
}

}  // namespace

int main(int count, char** words) {
  // Turns off Open MPI's warning about fork(), which is safe here because children only execute
  // another program.
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
