#define CATCH_CONFIG_RUNNER
#include <cstdlib>

#include <catch2/catch.hpp>
#include <mpi.h>

#include "sim/mpi/mpi_workers.hpp"
#include "sim/mpi/rank.hpp"
#include "sim/mpi/support.hpp"

// Rank 0 runs the tests; every other rank runs a test worker.
int main(int count, char** words) {
  namespace mpi = pipewright::mpi;
  MPI_Init(&count, &words);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (mpi::own_rank() == 0)
    return mpi::finish(mpi::test_messages(), Catch::Session().run(count, words));
  if (!mpi::serve_rank(mpi::test_messages(), mpi::make_test_worker, mpi::long_patience))
    std::_Exit(0);
  MPI_Finalize();
  return 0;
}
