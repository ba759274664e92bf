#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "sim/serve/questions.hpp"

namespace pipewright::serve {

// Work for a child process, such as a simulation.
struct Task {
  std::string slot;                           // a new task ends the previous task of its slot
  std::function<void(const SendLine&)> body;  // runs in a process of its own
  std::function<void(const std::string& line)> on_line;
  // Called once when the task ends, with the reason if it failed. It is not called for a task that
  // is cancelled by its number.
  std::function<void(const std::optional<std::string>& failure)> on_end;
};

// Child processes that work on requests of browsers. At most `limit` run at a time; further tasks
// wait in a queue. The destructor kills the processes, and so does the end of the server.
class Children {
 public:
  Children(boost::asio::io_context& context, std::size_t limit);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::uint64_t start(Task task);
  void cancel(std::uint64_t number);
  void cancel_slot(const std::string& slot);
  std::size_t running() const;

 private:
  struct Child;

  void start_waiting();
  void run(Child& child);
  void listen(Child& child);
  void receive(std::uint64_t number);

  boost::asio::io_context& context_;
  std::size_t limit_;
  std::uint64_t last_ = 0;
  std::list<std::unique_ptr<Child>> children_;  // ordered by number
};

inline constexpr const char* superseded = "superseded";  // failure of a task that a newer one ended

}  // namespace pipewright::serve
