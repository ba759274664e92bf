#include "tests/schedules/search/exact.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/schedules/search/exact_model.hpp"

namespace pipewright::schedules {
namespace {

using Clock = std::chrono::steady_clock;

// A temporary folder that the destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pipewright-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error(fmt::format("{}: {}", name, std::strerror(errno)));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Starts a program and returns its process id, or nothing if there is no such program.
std::optional<pid_t> spawn(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t silence;
  posix_spawn_file_actions_init(&silence);
  posix_spawn_file_actions_addopen(&silence, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&silence, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&silence, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, arguments[0], &silence, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&silence);
  if (failure == ENOENT) return std::nullopt;
  if (failure != 0)
    throw std::runtime_error(fmt::format("{}: {}", words[0], std::strerror(failure)));
  return child;
}

// The solver does not always respect its time limit; it is killed if it takes longer.
void wait_until_ended(pid_t child, Clock::time_point deadline) {
  constexpr auto grace = std::chrono::seconds(2);
  constexpr auto nap = std::chrono::milliseconds(2);
  int status = 0;
  for (pid_t ended = 0; ended == 0;) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno == EINTR) ended = 0;
    if (ended != 0) return;
    if (Clock::now() > deadline + grace) kill(child, SIGKILL);
    std::this_thread::sleep_for(nap);
  }
}

enum class Answer { solved, impossible, unknown };

Answer answer_in(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  if (line.starts_with("Optimal")) return Answer::solved;
  const bool none = line.starts_with("Infeasible") || line.starts_with("Integer infeasible");
  return none ? Answer::impossible : Answer::unknown;
}

}  // namespace

std::optional<ExactResult> solve_exactly(const Pipeline& pipeline, double unit, const Plan& start,
                                         int seconds) {
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  const ExactModel model(pipeline, unit);
  const TemporaryFolder folder;
  const std::string problem = folder.file("model.lp");
  const std::string solution = folder.file("solution.txt");
  ExactResult result{.plan = start};
  do {
    constexpr double rounding = 1e-6;  // of a cell
    const auto cells =
        static_cast<std::int64_t>(std::ceil(result.plan.makespan / unit - rounding)) - 1;
    std::ofstream out(problem);
    model.write(out, cells);
    out.close();
    if (!out) throw std::runtime_error(fmt::format("{}: cannot write it", problem));
    std::filesystem::remove(solution);

    const double left =
        std::max(0.0, std::chrono::duration<double>(deadline - Clock::now()).count());
    const auto child = spawn({"cbc", problem, "-timeMode", "elapsed", "-seconds",
                              fmt::format("{:.1f}", left), "-solve", "-solution", solution});
    if (!child) return std::nullopt;
    wait_until_ended(*child, deadline);
    ++result.solves;
    const Answer answer = answer_in(solution);
    if (answer == Answer::unknown) break;
    if (answer == Answer::impossible) {
      result.proven = true;
      break;
    }
    std::ifstream in(solution);
    Plan shorter = Justifier(pipeline).plan(model.read(in, cells));
    if (!better(shorter, result.plan, Objective::makespan))
      throw std::logic_error("the exact model's solution is no better plan");
    result.plan = std::move(shorter);
  } while (Clock::now() < deadline);
  return result;
}

}  // namespace pipewright::schedules
