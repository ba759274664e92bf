#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include "sim/cli/guard.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/mpi/finish.hpp"
#include "sim/mpi/mpi_workers.hpp"
#include "sim/mpi/options.hpp"
#include "sim/mpi/rank.hpp"
#include "sim/search/local_workers.hpp"

namespace {

using namespace pipewright;

constexpr const char* program = "pipewright-mpi";

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
  const mpi::Options options = mpi::read_options(words);
  if (options.help) {
    mpi::print_help();
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
  return cli::sweep_command(options.search, make_workers);
}

int serve(mpi::Messages& messages) {
  // The launcher tells all ranks to end; rank 0 then has something to write first, and they wait.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  const auto make_worker = [](const std::vector<std::string>& command) {
    return std::make_unique<search::LocalWorkers>(1, command);
  };
  if (!mpi::serve_rank(messages, make_worker)) std::_Exit(cli::exit_ok);
  return cli::exit_ok;
}

}  // namespace

int main(int count, char** words) {
  // Processes are started as MPI allows it: they do nothing but become another program.
  setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);
  MPI_Init(&count, &words);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  mpi::Messages messages;
  const bool is_first = mpi::own_rank() == 0;
  const int status = cli::guarded(program, [&] {
    return is_first ? coordinate(messages, {words + 1, words + count}) : serve(messages);
  });
  if (is_first) return mpi::finish(messages, status);
  if (status != cli::exit_ok) std::_Exit(status);  // MPI_Finalize might wait for rank 0 forever
  MPI_Finalize();
  return status;
}
