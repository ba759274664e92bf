#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

// What the coordinator (rank 0) and the other ranks write to each other: messages of processes
// (sim/process/channel.hpp), whose kinds MPI carries as tags; and how ranks pass the time between
// them, in seconds.
namespace pipewright::mpi {

int rank_count();
int own_rank();

struct Message {
  enum class Kind : int {
    start,     // to a rank: the command that serves a search, a list of its words
    restart,   // to a rank: that command ended, or hangs; once more
    line,      // to a rank: a message for its command
    end,       // to a rank: kill the command
    finalize,  // to a rank: end, and MPI with it, as all others do
    quit,      // to a rank: end, and leave MPI as it is
    alive,     // from and to all, now and then, without text
    started,   // from a rank, after `start` and `restart`: the name of its host
    answer,    // from a rank: a message of its command
    lost,      // from a rank: an error, why its command is gone
    ended,     // from a rank, after `end`
  };
  int rank = 0;  // of the other side
  Kind kind = Kind::alive;
  std::string text;  // JSON, if it is not empty
};

// Sends and receives without ever waiting for the other side, which may be dead. Several threads
// may have it, of which one at a time is in MPI.
class Messages {
 public:
  void send(Message message);
  // Says it to all other ranks but those that did not even take the last one.
  void say_alive();
  // Those that have come, of a rank in its order. MPI moves on only in here: call it often.
  std::vector<Message> collect();
  // Whether one is under way, so that the next collect() should come soon.
  bool busy() const {
    const std::lock_guard lock(mutex_);
    return !leaving_.empty() || !arriving_.empty();
  }

 private:
  struct Moving {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void post(Message message);
  void notice();

  const int own_ = own_rank();
  mutable std::mutex mutex_;
  std::list<Moving> leaving_;
  std::list<Moving> arriving_;  // as noticed
};

// Begins MPI for more than one thread, one of which is in it at a time, if it can.
void begin(int* count, char*** words);
bool has_threads();

// Says once a second that this process is alive, whatever else it does meanwhile: nobody else can
// tell a coordinator that is at work from one that is dead.
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

// MPI has no wait that leaves the core to others, so one looks and sleeps in turn: first for
// microseconds, since an answer to what was just said comes soon, then longer and longer.
class Nap {
 public:
  explicit Nap(double longest) : longest_(longest) {}
  double next();  // how long to sleep now
  void reset() { length_ = shortest; }

 private:
  static constexpr double shortest = 20e-6;
  double length_ = shortest;
  double longest_;
};

void sleep_for(double seconds);

// A clock that stands still while its owner does not look: whoever was stopped or had other work
// must not hold the others for silent, whose messages wait for it.
class ListeningClock {
 public:
  ListeningClock();
  double now();

 private:
  double last_;
  double listened_ = 0;
};

double steady_now();

}  // namespace pipewright::mpi
