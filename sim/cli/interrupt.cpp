#include "sim/cli/interrupt.hpp"

#include <csignal>

namespace pipewright::cli {
namespace {

volatile std::sig_atomic_t raised = 0;

}  // namespace

void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { raised = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool interrupted() { return raised != 0; }

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

}  // namespace pipewright::cli
