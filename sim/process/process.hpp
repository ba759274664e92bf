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

// A child process that exchanges messages with its parent. The destructor kills it, and so does the
// end of the process that started it. Constructors throw std::runtime_error.
class Process {
 public:
  // Function that runs in a fork of this process. The child ends when the function returns. An
  // exception becomes an error_message() to the parent and exit status 1.
  using Main = std::function<void(Channel& parent)>;
  enum class Errors : std::uint8_t { pass_on, store };  // destination of its standard error
  explicit Process(const Main& main, Errors errors = Errors::pass_on);
  // Starts another program, which reads messages from its standard input and writes them to its
  // standard output. Its standard error is stored. Signals of the terminal, such as Ctrl-C, do not
  // end it.
  explicit Process(const std::vector<std::string>& command);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  void send(const std::string& message);  // never blocks
  std::optional<std::string> next_message() { return messages_.next(); }
  int from() const { return messages_end_; }  // descriptor of its messages, for poll()
  // Returns whether the process has sent its last message. Messages that next_message() has not
  // returned yet may be left.
  bool is_over() const { return is_over_; }

  // Waits for the process to end, and kills it if it does not end soon. Returns the status of
  // waitpid().
  int end();
  // The last bytes that the process wrote to its standard error, if that is stored; complete after
  // end().
  const std::string& errors() const { return stored_errors_; }

 private:
  friend bool wait_for(std::span<Process* const> processes, double seconds, Channel* parent);

  void write_unsent();
  void store_errors();
  int wait_for_status();

  pid_t process_ = -1;
  int messages_end_ = -1;  // socket of the messages in both directions
  int errors_end_ = -1;
  bool is_over_ = false;
  std::string unsent_;
  std::string stored_errors_;
  LineReader messages_;
};

// Waits until one of `processes` sends a message or ends, or `parent` sends something, but at most
// `seconds`, or without a limit if they are negative. Returns false if the parent has ended.
bool wait_for(std::span<Process* const> processes, double seconds, Channel* parent = nullptr);

// Describes a status of waitpid(): "ended with signal 11 (Segmentation fault)".
std::string describe_end(int status);

// Limits the address space of this process and of those that it starts.
void limit_memory(std::uint64_t bytes);

}  // namespace pipewright::process
