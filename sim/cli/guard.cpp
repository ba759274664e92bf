#include "sim/cli/guard.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/commands.hpp"

namespace pipewright::cli {
namespace {

volatile std::sig_atomic_t raised = 0;
volatile std::sig_atomic_t grace_seconds = 0;  // 0: no limit

// Signal handlers. They call only functions that are safe in a signal handler.
void raise_flag(int) {
  raised = 1;
  if (grace_seconds > 0) alarm(static_cast<unsigned>(grace_seconds));
}
void give_up(int) {
  constexpr std::string_view text = "pipewright: interrupted before the end\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(exit_interrupted);
}

}  // namespace

void watch_for_interrupts(unsigned grace) {
  grace_seconds = static_cast<std::sig_atomic_t>(grace);
  struct sigaction end {};
  end.sa_handler = give_up;
  sigaction(SIGALRM, &end, nullptr);
  struct sigaction action {};
  action.sa_handler = raise_flag;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool interrupted() { return raised != 0; }

void throw_if_interrupted() {
  if (!interrupted()) return;
  alarm(0);
  throw Interrupted();
}

int guarded(const char* program, const std::function<int()>& body) {
  const auto report = [&](const char* message, int status) {
    fmt::print(stderr, "{}: {}\n", program, message);
    return status;
  };
  // Makes a write beyond the file size limit fail like any other write, instead of ending the
  // process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = body();
    // An earlier flush that failed has emptied the buffer and set the error of the stream.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return report("standard output: cannot write", exit_user_error);
    return status;
  } catch (const Interrupted&) {
    return report("interrupted before the end", exit_interrupted);
  } catch (const std::runtime_error& error) {
    const char* const place = std::ferror(stdout) != 0 ? "standard output: " : "";
    return report(fmt::format("{}{}", place, error.what()).c_str(), exit_user_error);
  } catch (const std::bad_alloc&) {
    return report("not enough memory for a run of this size", exit_user_error);
  } catch (const std::exception& error) {
    return report(fmt::format("internal error: {}; please report it", error.what()).c_str(),
                  exit_our_fault);
  }
}

}  // namespace pipewright::cli
