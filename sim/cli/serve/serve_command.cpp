#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/serve/long_questions.hpp"
#include "sim/execution/run.hpp"
#include "sim/serve/server.hpp"

namespace pipewright::cli {
namespace {

using std::filesystem::path;

// Scenario that the page shows at first if the command line names none.
constexpr const char* first_scenario =
    "cluster: dgx-h100-8\n"
    "model: llama-3-70b\n"
    "parallel: {tp: 8, pp: 4, dp: 2, sp: true, zero: 1}\n"
    "schedule: 1f1b\n"
    "global_batch: 128\n";

po::options_description serve_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("port,p", one_word("N"), "port to listen on (default: a free one)");
  add("root", one_word("FOLDER"),
      "folder of the files that scenarios may name (default: the current folder)");
  add("host", one_word("ADDRESS"),
      "address to listen on (default: 127.0.0.1, which only this machine can reach)");
  add("jobs,j", one_word("N"),
      "number of simulations at the same time (default: number of processors)");
  add("no-browser", "print the address without opening a browser");
  add("help,h", "print this help");
  return options;
}

void print_serve_help() {
  fmt::print(
      "usage: pipewright serve [SCENARIO] [OPTIONS]\n\n"
      "Opens a page on which you edit a scenario and see its time, memory and timeline within a\n"
      "second, for up to six variants side by side. The command prints the address of the page "
      "and\n"
      "ends with Ctrl-C. Access needs the token in the address, and scenarios may name only files "
      "in\n"
      "the project folder and names of the library.\n\n"
      "  pipewright serve\n"
      "  pipewright serve llama.yaml\n"
      "  pipewright serve llama.yaml --root ~/models --port 8123 --no-browser\n"
      "  ssh -L 8123:127.0.0.1:8123 login-node 'pipewright serve --port 8123 --no-browser'\n\n{}",
      describe(serve_options()));
}

std::string text_option(const po::variables_map& flags, const char* option,
                        const char* default_value) {
  return flags.count(option) == 0 ? default_value : flags[option].as<std::string>();
}

std::uint16_t port_of(const po::variables_map& flags) {
  if (text_option(flags, "port", "0") == "0") return 0;
  const std::uint32_t port = read_count(flags, "port");
  if (port > 65535) throw UsageError(fmt::format("--port is {}", port)).allow("0 to 65535");
  return static_cast<std::uint16_t>(port);
}

std::string text_of(const path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || std::filesystem::is_directory(file))
    throw std::runtime_error(
        fmt::format("{}: cannot be read; give the file of a scenario", file.string()));
  return text;
}

// Opens the address in a browser if there is a display. Failures are ignored.
void open_browser(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  const pid_t child = fork();
  if (child < 0) return;
  if (child > 0) {
    waitpid(child, nullptr, 0);
    return;
  }
  // Forks twice: init adopts the grandchild, so this process need not wait() for the browser.
  if (fork() == 0) {
    [[maybe_unused]] const auto* const out = std::freopen("/dev/null", "w", stdout);
    [[maybe_unused]] const auto* const err = std::freopen("/dev/null", "w", stderr);
    execlp("xdg-open", "xdg-open", address.c_str(), nullptr);
  }
  _exit(0);
}

}  // namespace

int serve_command(const Arguments& arguments) {
  const po::variables_map flags = parse(arguments, serve_options(), "scenario");
  if (flags.count("help") != 0) {
    print_serve_help();
    return exit_ok;
  }
  serve::Options options{.host = text_option(flags, "host", "127.0.0.1"),
                         .port = port_of(flags),
                         .scenario = first_scenario,
                         .answer_search = answer_served_search,
                         .answer_goodput = answer_served_goodput};
  const std::vector<std::string> files = values(flags, "scenario");
  if (files.size() > 1) throw UsageError("serve takes a single scenario");
  const bool has_root = flags.count("root") != 0;
  // Paths in a scenario are relative to its file.
  path start = files.empty() ? path(".") : path(files.front()).parent_path();
  if (!files.empty()) options.scenario = text_of(files.front());
  if (start.empty()) start = ".";
  std::error_code failed;
  const std::string root = text_option(flags, "root", start.c_str());
  options.project = std::filesystem::canonical(root, failed);
  if (failed || !std::filesystem::is_directory(options.project))
    throw UsageError(fmt::format("--root is '{}', which is no folder", root));
  std::filesystem::current_path(has_root && files.empty() ? options.project : start);
  options.jobs = flags.count("jobs") != 0 ? read_count(flags, "jobs")
                                          : std::max(2U, std::thread::hardware_concurrency());
  const bool opens_browser = flags.count("no-browser") == 0;
  options.ready = [&](const std::string& address, const std::string& once) {
    fmt::print("pipewright serves {}\n  {}\nCtrl-C ends it.\n", options.project.string(), address);
    std::fflush(stdout);
    if (opens_browser) open_browser(once);
  };
  execution::load_simulator();  // loaded once for all children
  serve::serve(options);
  return exit_ok;
}

}  // namespace pipewright::cli
