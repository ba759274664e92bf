#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/requests/requests.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/process.hpp"

namespace pipewright::cli {

std::span<const Request> requests() {
  static constexpr std::array table{
      Request{"command", answer_command},   Request{"export", answer_export},
      Request{"import", answer_import},     Request{"library", answer_library},
      Request{"run", answer_run},           Request{"search", answer_search},
      Request{"describe", answer_describe}, Request{"save", answer_save},
      Request{"why", answer_why},           Request{"compare", answer_compare},
  };
  return table;
}

namespace {

// As if the asker had started this process itself.
void stand_where(const Json& asked) {
  if (const auto folder = asked.find("folder"); folder != asked.end())
    if (chdir(folder->get<std::string>().c_str()) != 0)
      throw std::runtime_error(
          fmt::format("{}: is no folder to run in", folder->get<std::string>()));
  if (const auto library = asked.find("platforms"); library != asked.end())
    setenv("PIPEWRIGHT_PLATFORMS", library->get<std::string>().c_str(), 1);
}

// In a process of its own.
void answer(Message& asked, const Connection& say) {
  try {
    const std::string name = asked.json.at("ask");
    const auto known = requests();
    const auto request = std::ranges::find(known, name, &Request::name);
    if (request == known.end()) throw std::logic_error("nobody answers " + name);
    stand_where(asked.json);
    say.send({{"answer", request->answer(asked, say)}});
  } catch (const std::exception& error) {
    say.send({{"error", describe_error(error)}});
  }
}

constexpr double look_again = 0.1;  // seconds

// Whether nobody is at the other end. It looks without reading: the next request may be there, as
// an answer comes before the process that gave it has ended.
bool is_closed(int socket) {
  pollfd looked{socket, POLLRDHUP, 0};
  return poll(&looked, 1, 0) > 0;
}

std::string description_of(const process::Process& child, int status) {
  std::string text = "the simulation's process " + process::describe_end(status);
  if (!child.errors().empty()) text += ": " + child.errors();
  return text;
}

}  // namespace

int answer_requests(const Arguments& arguments) {
  if (!arguments.empty()) throw UsageError("--answer takes no arguments");
  // Interrupts of a terminal are the asker's, who ends this process where it wants to.
  std::signal(SIGINT, SIG_IGN);
  // What libraries print is no message.
  const int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  execution::load_simulator();
  Connection asker(socket);
  while (std::optional<Message> asked = asker.receive()) {
    process::Process child([&](process::Channel&) { answer(*asked, asker); },
                           process::Process::Errors::keep);
    const std::array<process::Process*, 1> waiting{&child};
    while (!child.is_over())
      if (!process::wait_for(waiting, look_again) || is_closed(socket)) return exit_ok;
    if (const int status = child.end(); status != 0)
      asker.send(
          {{"error", {{"kind", "InternalError"}, {"found", description_of(child, status)}}}});
  }
  return exit_ok;
}

}  // namespace pipewright::cli
