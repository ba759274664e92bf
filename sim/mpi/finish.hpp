#pragma once

#include "sim/mpi/messages.hpp"

namespace pipewright::mpi {

// The coordinator's last step: ends all ranks and MPI, and returns the status that the process is
// to end with. If a rank is dead or hangs, MPI_Finalize might wait for it forever; then MPI is
// aborted, this process included, with that status.
int finish(Messages& messages, int status);

}  // namespace pipewright::mpi
