#include "sim/cli/interrupt.hpp"

#include <csignal>
#include <string_view>

#include <unistd.h>

#include "sim/cli/commands.hpp"

namespace pipewright::cli {
namespace {

volatile std::sig_atomic_t raised = 0;
volatile std::sig_atomic_t patience = 0;  // seconds; 0: without end

// Both may call only what is safe within a signal handler.
void raise_flag(int) {
  raised = 1;
  if (patience > 0) alarm(static_cast<unsigned>(patience));
}
void give_up(int) {
  constexpr std::string_view text = "pipewright: interrupted before the end\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(exit_interrupted);
}

}  // namespace

void watch_for_interrupts(unsigned grace) {
  patience = static_cast<std::sig_atomic_t>(grace);
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

}  // namespace pipewright::cli
