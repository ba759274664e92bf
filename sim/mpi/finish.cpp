#include "sim/mpi/finish.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "sim/mpi/nap.hpp"
#include "sim/mpi/rank.hpp"

namespace pipewright::mpi {
namespace {

// Tells all other ranks to end; whether all said that they do.
bool end_ranks(Letters& letters) {
  constexpr double at_most = 5;  // seconds; a rank kills its command, which takes none
  constexpr double longest_nap = 10e-3;
  for (int rank = 1; rank < rank_count(); ++rank) letters.send({rank, Letter::Kind::end, {}});
  int left = rank_count() - 1;
  const double end = steady_now() + at_most;
  for (Nap nap(longest_nap); left > 0 && steady_now() < end; sleep_for(nap.next()))
    for (const Letter& letter : letters.collect())
      if (letter.kind == Letter::Kind::ended) --left;
  return left == 0;
}

// Open MPI's mpirun ends with status 0 after --enable-recovery, whatever its processes do.
bool is_status_lost() {
  const char* recovery = std::getenv("OMPI_MCA_orte_enable_recovery");
  return recovery != nullptr && std::string_view(recovery) == "1";
}

}  // namespace

int finish(Letters& letters, int status) {
  if (status != 0 && is_status_lost())
    fmt::print(stderr,
               "pipewright-mpi: the exit status is {}, whatever mpirun --enable-recovery says\n",
               status);
  if (end_ranks(letters)) {
    MPI_Finalize();
    return status;
  }
  fmt::print(
      stderr,
      "pipewright-mpi: a rank is dead or hangs; all is written, and MPI is aborted to end\n");
  std::fflush(nullptr);
  constexpr double until_forwarded = 0.2;  // mpirun drops what it has not yet passed on
  sleep_for(until_forwarded);
  MPI_Abort(MPI_COMM_WORLD, status);
  return status;
}

}  // namespace pipewright::mpi
