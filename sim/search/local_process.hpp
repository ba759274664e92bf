#pragma once

#include <optional>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/types.h>

#include "sim/search/line_reader.hpp"

namespace pipewright::search {

// A process that runs a command, with pipes to its standard streams, killed at the latest with this
// object. Interrupts of the terminal do not reach it.
class LocalProcess {
 public:
  explicit LocalProcess(const std::vector<std::string>& command);
  ~LocalProcess();
  LocalProcess(const LocalProcess&) = delete;
  LocalProcess& operator=(const LocalProcess&) = delete;

  void send(const std::string& line);  // never waits
  // What to wait for, as many as `streams`, and what to do when it has come.
  static constexpr std::size_t streams = 2;
  void append_to(std::vector<pollfd>& waiting) const;
  bool move_on(const pollfd* waited);  // false once it is lost
  std::optional<std::string> next_line() { return lines_.next(); }
  // Waits for its end, which it has come to, or is now made to come to. Why, with the last line of
  // what it had to say on its standard error.
  std::string end();

 private:
  void say();
  void hear_complaints();

  pid_t process_ = -1;
  int lines_end_ = -1;  // of its standard input and output
  int errors_ = -1;
  std::string unsent_;
  std::string complaints_;
  LineReader lines_;
};

}  // namespace pipewright::search
