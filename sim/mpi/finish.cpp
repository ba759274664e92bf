#include "sim/mpi/finish.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "sim/mpi/nap.hpp"
#include "sim/mpi/rank.hpp"

namespace pipewright::mpi {
namespace {

constexpr double longest_nap = 10e-3;  // seconds

void tell_all(Messages& messages, Message::Kind kind) {
  for (int rank = 1; rank < rank_count(); ++rank) messages.send({rank, kind, {}});
}

// Tells all other ranks to end; whether all said that they did.
bool end_ranks(Messages& messages) {
  constexpr double at_most = 5;  // seconds; a rank kills its command, which takes none
  tell_all(messages, Message::Kind::end);
  int left = rank_count() - 1;
  const double end = steady_now() + at_most;
  for (Nap nap(longest_nap); left > 0 && steady_now() < end; sleep_for(nap.next()))
    for (const Message& message : messages.collect())
      if (message.kind == Message::Kind::ended) --left;
  return left == 0;
}

// Under mpirun --enable-recovery of Open MPI: processes may come and go as they like, and mpirun
// always ends with status 0. An abort there ends only this process for certain, and may hang while
// there are others.
bool is_recovery_enabled() {
  const char* recovery = std::getenv("OMPI_MCA_orte_enable_recovery");
  return recovery != nullptr && std::string_view(recovery) == "1";
}

}  // namespace

int finish(Messages& messages, int status) {
  const bool recovery = is_recovery_enabled();
  if (status != 0 && recovery)
    fmt::print(stderr,
               "pipewright-mpi: the exit status is {}, whatever mpirun --enable-recovery says\n",
               status);
  if (end_ranks(messages)) {
    tell_all(messages, Message::Kind::finalize);
    MPI_Finalize();
    return status;
  }
  fmt::print(
      stderr,
      "pipewright-mpi: a rank is dead or hangs; all is written, and MPI is aborted to end\n");
  std::fflush(nullptr);
  if (recovery) tell_all(messages, Message::Kind::quit);
  constexpr double pause = 0.5;  // for ranks to go, and for mpirun to pass on what was printed
  for (const double end = steady_now() + pause; steady_now() < end; sleep_for(longest_nap))
    messages.collect();
  MPI_Abort(MPI_COMM_WORLD, status);
  return status;
}

}  // namespace pipewright::mpi
