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

// A question on its way to an answer.
struct Task {
  std::string slot;                      // a newer task of a slot ends the one before
  std::function<void(const Say&)> body;  // in a process of its own
  std::function<void(const std::string& line)> said;
  // Once, at the end; with the plain words of what went wrong, or nothing. Not of a task that is
  // cancelled by its number.
  std::function<void(const std::optional<std::string>& failure)> ended;
};

// Processes that answer questions, so many at a time, the others in a queue. They are killed with
// this, and with the server's process.
class Children {
 public:
  Children(boost::asio::io_context& context, std::size_t most);
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
  void hear(std::uint64_t number);

  boost::asio::io_context& context_;
  std::size_t most_;
  std::uint64_t last_ = 0;
  std::list<std::unique_ptr<Child>> children_;  // in the order of their numbers
};

inline constexpr const char* superseded = "superseded";  // the failure of one that another ended

}  // namespace pipewright::serve
