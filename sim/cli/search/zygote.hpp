#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "sim/cli/search/sweep_options.hpp"
#include "sim/search/line_reader.hpp"
#include "sim/search/space.hpp"

namespace pipewright::cli {

// A process that evaluates candidates on one cluster, loaded once for all. It takes tasks and gives
// answers as lines.
class Zygote {
 public:
  Zygote(const search::Space& space, const WorkerSettings& settings);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Both throw std::runtime_error, which says how it ended, once it has.
  void send(const std::string& line);
  void listen();
  int from() const { return from_; }  // for poll()
  std::optional<std::string> next_line() { return lines_.next(); }

 private:
  [[noreturn]] void report_end();

  pid_t process_ = -1;
  int into_ = -1;
  int from_ = -1;
  search::LineReader lines_;
};

}  // namespace pipewright::cli
