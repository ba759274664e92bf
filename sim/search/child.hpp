#pragma once

#include <functional>
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

struct Limits {
  double seconds = 0;       // 0: none
  std::uint64_t bytes = 0;  // of address space; 0: none
};

// Runs `body` within limits. False, with the child killed, once `parent` is closed at its other
// end.
bool run_within(const Limits& limits, const Body& body, int parent, Said& said);

// "ended with signal 11 (Segmentation fault)", of a status that waitpid gives.
std::string describe_end(int status);

// Ends this process when `parent`, which started it, does.
void end_with_parent(pid_t parent);
void limit_memory(std::uint64_t bytes);

}  // namespace pipewright::search
