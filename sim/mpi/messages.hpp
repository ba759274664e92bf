#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

// Exchanges messages between the coordinator (rank 0) and the other ranks, and times how long ranks
// wait for them. The text of a message is a message of a process (sim/process/channel.hpp); its
// kind is the MPI tag. Times are in seconds.
namespace pipewright::mpi {

int rank_count();
int own_rank();

struct Message {
  enum class Kind : int {
    start,     // to a rank: start this command, a list of words that serve a search
    restart,   // to a rank: start the command again, as it ended or hangs
    line,      // to a rank: a message for its command
    end,       // to a rank: kill the command
    finalize,  // to a rank: call MPI_Finalize with all other ranks, and end
    quit,      // to a rank: end without MPI_Finalize
    alive,     // both ways, periodically, without text
    started,   // from a rank, the reply to `start` and `restart`: the name of its host
    answer,    // from a rank: a message of its command
    lost,      // from a rank: the error that ended its command
    ended,     // from a rank, the reply to `end`
  };
  int rank = 0;  // sender or receiver
  Kind kind = Kind::alive;
  std::string text;  // JSON, or empty
};

// Sends and receives messages without blocking, because the peer may be dead. Threads may share an
// object: a mutex ensures that one at a time calls MPI.
class Messages {
 public:
  void send(Message message);
  // Sends `alive` to every other rank, unless that rank has yet to receive the previous one.
  void send_alive();
  // Returns the messages that have arrived, those of each rank in the order in which it sent them.
  // MPI makes progress only in this call, so call it often.
  std::vector<Message> collect();
  // Returns whether a message is in transit, so that the next collect() should follow soon.
  bool is_busy() const {
    const std::lock_guard lock(mutex_);
    return !outgoing_.empty() || !incoming_.empty();
  }

 private:
  struct Transfer {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void post(Message message);
  void start_receiving();

  const int rank_ = own_rank();
  mutable std::mutex mutex_;
  std::list<Transfer> outgoing_;
  std::list<Transfer> incoming_;  // in the order of arrival
};

// Initializes MPI so that several threads may call it, one at a time, if MPI supports that.
// has_threads() returns whether it does.
void begin(int* count, char*** words);
bool has_threads();

// Sends `alive` to all ranks once a second from a thread of its own, so that ranks can tell a
// coordinator that is computing from one that is dead.
class Heartbeat {
 public:
  explicit Heartbeat(Messages& messages);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  Messages& messages_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;
};

// Computes how long to sleep between two polls. MPI has no blocking wait that frees the core, so
// ranks poll and sleep: first for microseconds, as a reply to a new message comes soon, then longer
// and longer.
class Nap {
 public:
  explicit Nap(double longest) : longest_(longest) {}
  double next();  // length of the next nap
  void reset() { length_ = shortest; }

 private:
  static constexpr double shortest = 20e-6;
  double length_ = shortest;
  double longest_;
};

void sleep_for(double seconds);

// Clock that counts only the time in which its owner reads it regularly. A process that was
// suspended or busy must not take its peers for dead: their messages were waiting for it.
class ListeningClock {
 public:
  ListeningClock();
  double now();

 private:
  double last_;
  double listened_ = 0;
};

double steady_now();  // seconds of the steady clock

}  // namespace pipewright::mpi
