#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "sim/process/channel.hpp"

namespace pipewright::process {

// A child process, which exchanges messages with its parent. It is killed with this object at the
// latest, and when the process that started it ends. Constructors throw std::runtime_error.
class Process {
 public:
  // What a copy of this process does; it ends when this returns. What this throws becomes an
  // error_message(), and its exit status 1.
  using Main = std::function<void(Channel& parent)>;
  enum class Errors : std::uint8_t { pass_on, keep };  // what it writes to its standard error
  explicit Process(const Main& main, Errors errors = Errors::pass_on);
  // Another program, whose standard streams are the messages; its errors are kept. Interrupts of
  // the terminal do not reach it.
  explicit Process(const std::vector<std::string>& command);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  void send(const std::string& message);  // never waits
  std::optional<std::string> next_message() { return messages_.next(); }
  int from() const { return messages_end_; }  // of its messages, for poll()
  // Whether no other message will come than those that next_message() still has.
  bool is_over() const { return is_over_; }

  // Waits for its end, which it has come to, or is now made to come to: the status that waitpid
  // gives.
  int end();
  // The end of what it wrote to its standard error, if this is kept; all of it after end().
  const std::string& errors() const { return kept_errors_; }

 private:
  friend bool wait_for(std::span<Process* const> processes, double seconds, Channel* parent);

  void write_unsent();
  void keep_errors();
  int wait_for_status();

  pid_t process_ = -1;
  int messages_end_ = -1;  // of the messages in both directions
  int errors_end_ = -1;
  bool is_over_ = false;
  std::string unsent_;
  std::string kept_errors_;
  LineReader messages_;
};

// Waits for messages of any of `processes`, for its end or for `parent`, `seconds` at the most; if
// these are negative, without an end. False: the parent has ended.
bool wait_for(std::span<Process* const> processes, double seconds, Channel* parent = nullptr);

// "ended with signal 11 (Segmentation fault)", of a status that waitpid gives.
std::string describe_end(int status);

void limit_memory(std::uint64_t bytes);  // of this process and those that it starts

}  // namespace pipewright::process
