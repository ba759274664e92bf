#pragma once

#include <list>
#include <string>
#include <vector>

#include <mpi.h>

// What the coordinator (rank 0) and the other ranks write to each other.
namespace pipewright::mpi {

struct Letter {
  // As tags of MPI.
  enum class Kind : int {
    start,     // to a rank: the command that serves a search, its words after zero bytes
    restart,   // to a rank: that command ended, or hangs; once more
    line,      // to a rank: for its command
    end,       // to a rank: kill the command
    finalize,  // to a rank: end, and MPI with it, as all others do
    quit,      // to a rank: end, and leave MPI as it is
    alive,     // from and to all, now and then, without text
    started,   // from a rank, after `start` and `restart`: its host
    answer,    // from a rank: a line of its command
    lost,      // from a rank: why its command is gone
    ended,     // from a rank, after `end`
  };
  int rank = 0;  // of the other side
  Kind kind = Kind::alive;
  std::string text;
};

// Sends and receives without ever waiting for the other side, which may be dead.
class Letters {
 public:
  void send(Letter letter);
  // Those that have come, of a rank in its order. MPI moves on only in here: call it often.
  std::vector<Letter> collect();
  // Whether one is under way, so that the next collect() should come soon.
  bool busy() const { return !leaving_.empty() || !arriving_.empty(); }

 private:
  struct Moving {
    Letter letter;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void notice();

  std::list<Moving> leaving_;
  std::list<Moving> arriving_;  // as noticed
};

}  // namespace pipewright::mpi
