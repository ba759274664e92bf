#include "sim/mpi/options.hpp"

#include <charconv>

#include <fmt/format.h>

namespace pipewright::mpi {
namespace {

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

}  // namespace

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
      "  --lost-after SECONDS  a rank that is silent for so long has died or hangs (15)\n"
      "  -h, --help            this text\n");
}

}  // namespace pipewright::mpi
