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
#include "sim/execution/run.hpp"
#include "sim/serve/server.hpp"

namespace pipewright::cli {
namespace {

using std::filesystem::path;

// What the page begins with where no scenario is given.
constexpr const char* first_scenario =
    "cluster: dgx-h100-8\n"
    "model: llama-3-70b\n"
    "parallel: {tp: 8, pp: 4, dp: 2, sp: true, zero: 1}\n"
    "schedule: 1f1b\n"
    "global_batch: 128\n";

po::options_description serve_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("port,p", one_word("N"), "of this machine (a free one)");
  add("root", one_word("FOLDER"), "whose files scenarios may name (the current folder)");
  add("host", one_word("ADDRESS"), "to listen at (127.0.0.1: this machine alone)");
  add("jobs,j", one_word("N"), "simulations at a time (as many as the machine has processors)");
  add("no-browser", "only print the address");
  add("help,h", "this text");
  return options;
}

void print_help() {
  fmt::print(
      "usage: pipewright serve [SCENARIO] [OPTIONS]\n\n"
      "Opens a page on which a scenario is changed and its time, memory and timeline follow "
      "within\n"
      "a second; up to six variants stand side by side. It prints the page's address and ends "
      "with\n"
      "Ctrl-C. Nobody gets in without the token in the address, and scenarios may only name files\n"
      "in the project folder and names of the library.\n\n"
      "  pipewright serve\n"
      "  pipewright serve llama.yaml\n"
      "  pipewright serve llama.yaml --root ~/models --port 8123 --no-browser\n"
      "  ssh -L 8123:127.0.0.1:8123 login-node 'pipewright serve --port 8123 --no-browser'\n\n{}",
      describe(serve_options()));
}

std::string word(const po::variables_map& given, const char* option, const char* otherwise) {
  return given.count(option) == 0 ? otherwise : given[option].as<std::string>();
}

std::uint16_t port_of(const po::variables_map& given) {
  if (word(given, "port", "0") == "0") return 0;
  const std::uint32_t port = read_count(given, "port");
  if (port > 65535) throw UsageError(fmt::format("--port is {}; allowed: 0 to 65535", port));
  return static_cast<std::uint16_t>(port);
}

std::string text_of(const path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || std::filesystem::is_directory(file))
    throw std::runtime_error(fmt::format("{}: cannot be read; give a scenario", file.string()));
  return text;
}

// Where there is a display; whether there is a browser shows itself.
void open_browser(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  const pid_t child = fork();
  if (child < 0) return;
  if (child > 0) {
    waitpid(child, nullptr, 0);
    return;
  }
  // A grandchild, which nobody has to wait for.
  if (fork() == 0) {
    [[maybe_unused]] const auto* const out = std::freopen("/dev/null", "w", stdout);
    [[maybe_unused]] const auto* const err = std::freopen("/dev/null", "w", stderr);
    execlp("xdg-open", "xdg-open", address.c_str(), nullptr);
  }
  _exit(0);
}

}  // namespace

int serve_command(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, serve_options(), "scenario");
  if (given.count("help") != 0) {
    print_help();
    return exit_ok;
  }
  serve::Options options{
      .host = word(given, "host", "127.0.0.1"), .port = port_of(given), .scenario = first_scenario};
  const std::vector<std::string> files = values(given, "scenario");
  if (files.size() > 1) throw UsageError("serve: takes one scenario");
  const bool has_root = given.count("root") != 0;
  // Paths of a scenario start from the folder of its file.
  path start = files.empty() ? path(".") : path(files.front()).parent_path();
  if (!files.empty()) options.scenario = text_of(files.front());
  if (start.empty()) start = ".";
  std::error_code failed;
  const std::string root = word(given, "root", start.c_str());
  options.project = std::filesystem::canonical(root, failed);
  if (failed || !std::filesystem::is_directory(options.project))
    throw UsageError(fmt::format("--root is '{}', which is no folder", root));
  std::filesystem::current_path(has_root && files.empty() ? options.project : start);
  options.jobs = given.count("jobs") != 0 ? read_count(given, "jobs")
                                          : std::max(2U, std::thread::hardware_concurrency());
  const bool browser = given.count("no-browser") == 0;
  options.ready = [&](const std::string& address) {
    fmt::print("pipewright serves {}\n  {}\nCtrl-C ends it.\n", options.project.string(), address);
    std::fflush(stdout);
    if (browser) open_browser(address);
  };
  execution::load_simulator();  // once, for the children that simulate
  serve::serve(options);
  return exit_ok;
}

}  // namespace pipewright::cli
