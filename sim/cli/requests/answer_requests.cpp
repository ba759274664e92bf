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
      Request{"keys", answer_keys, true},
      Request{"scenario", answer_scenario, true},
      Request{"library", answer_library, true},
      Request{"command", answer_command},
      Request{"export", answer_export},
      Request{"import", answer_import},
      Request{"run", answer_run},
      Request{"search", answer_search},
      Request{"open", answer_open},
      Request{"describe", answer_describe},
      Request{"save", answer_save},
      Request{"why", answer_why},
      Request{"compare", answer_compare},
  };
  return table;
}

namespace {

const Request* find_request(const Json& request) {
  const auto list = requests();
  const auto it = std::ranges::find(list, request.at("ask").get<std::string>(), &Request::name);
  return it == list.end() ? nullptr : &*it;
}

// Changes to the client's working folder, and to its library of platforms.
void enter_environment(const Json& request) {
  if (const auto folder = request.find("folder"); folder != request.end())
    if (chdir(folder->get<std::string>().c_str()) != 0)
      throw std::runtime_error(
          fmt::format("{}: the folder does not exist", folder->get<std::string>()));
  if (const auto library = request.find("platforms"); library != request.end())
    setenv("PIPEWRIGHT_PLATFORMS", library->get<std::string>().c_str(), 1);
  else
    unsetenv("PIPEWRIGHT_PLATFORMS");
}

// Answers a request and sends the answer, or the error, to the client.
void answer(Message& request, const Connection& client) {
  try {
    const Request* const it = find_request(request.json);
    if (it == nullptr) throw std::logic_error("unknown request " + request.json["ask"].dump());
    enter_environment(request.json);
    client.send({{"answer", it->answer(request, client)}});
  } catch (const std::exception& error) {
    client.send({{"error", describe_error(error)}});
  }
}

constexpr double poll_interval = 0.1;  // seconds

// Returns whether the client has closed the connection. It does not read, since the next request
// may arrive before the process of the previous one has ended.
bool is_closed(int socket) {
  pollfd polled{socket, POLLRDHUP, 0};
  return poll(&polled, 1, 0) > 0;
}

std::string description_of(const process::Process& child, int status) {
  std::string text = "the simulation's process " + process::describe_end(status);
  if (!child.errors().empty()) text += ": " + child.errors();
  return text;
}

}  // namespace

int answer_requests(const Arguments& arguments) {
  if (!arguments.empty()) throw UsageError("--answer takes no arguments");
  // Ignores Ctrl-C of a terminal, which the client also receives; the client decides how to react.
  std::signal(SIGINT, SIG_IGN);
  // Redirects standard output to standard error, so that output of libraries cannot mix with
  // messages.
  const int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  Connection client(socket);
  while (std::optional<Message> request = client.receive()) {
    if (const Request* const handler = find_request(request->json);
        handler != nullptr && handler->is_short) {
      answer(*request, client);
      continue;
    }
    execution::load_simulator();  // once for all children
    process::Process child([&](process::Channel&) { answer(*request, client); },
                           process::Process::Errors::store);
    const std::array<process::Process*, 1> waiting{&child};
    while (!child.is_over())
      if (!process::wait_for(waiting, poll_interval) || is_closed(socket)) return exit_ok;
    if (const int status = child.end(); status != 0)
      client.send(
          {{"error", {{"kind", "InternalError"}, {"found", description_of(child, status)}}}});
  }
  return exit_ok;
}

}  // namespace pipewright::cli
