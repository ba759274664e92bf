#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

namespace pipewright::search {

// What a process of its own said, or why it did not.
struct Said {
  bool failed = false;
  std::string text;  // what it said, or the message of what it threw
};

using Body = std::function<std::string()>;

// A process that says one text, from its start to its end. It is killed if nobody waits for it, and
// when its parent ends.
class Child {
 public:
  explicit Child(const Body& body);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  int from() const { return from_; }  // for poll()
  bool listen();                      // takes what there is to read; false at the end
  Said end();                         // once listen() said so

 private:
  pid_t process_ = -1;
  int from_ = -1;
  std::string text_;
};

// What `body` says in a process of its own, or that it took longer than `seconds` (0: any time is
// well). Nothing, with the process killed, once the pipe `parent` is closed at its other end.
std::optional<Said> run_within(double seconds, const Body& body, int parent);

// "ended with signal 11 (Segmentation fault)", of a status that waitpid gives.
std::string describe_end(int status);

// Ends this process when `parent`, which started it, does.
void end_with_parent(pid_t parent);
void limit_memory(std::uint64_t bytes);  // of this process and those that it starts

}  // namespace pipewright::search
