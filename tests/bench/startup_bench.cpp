// Measures whole processes from start to end: pipewright commands with next to no work, compared
// with a program that does nothing.

#include <initializer_list>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void run(benchmark::State& state, std::initializer_list<const char*> words) {
  std::vector<char*> arguments;
  for (const char* word : words) arguments.push_back(const_cast<char*>(word));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  for (auto _ : state) {
    pid_t child = 0;
    int status = 1;
    if (posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ) !=
            0 ||
        waitpid(child, &status, 0) != child || status != 0) {
      state.SkipWithError("it did not run");
      break;
    }
  }
  posix_spawn_file_actions_destroy(&actions);
}

void nothing(benchmark::State& state) { run(state, {"true"}); }
void help(benchmark::State& state) { run(state, {PIPEWRIGHT_PROGRAM, "--help"}); }
void timing_run(benchmark::State& state) {
  run(state, {PIPEWRIGHT_PROGRAM, "run", "-s", "4", "-b", "8", "-f", "1", "--backward-times", "2",
              "--schedule", "1f1b", "--engine", "timing"});
}
void simgrid_run(benchmark::State& state) {
  run(state, {PIPEWRIGHT_PROGRAM, "run", "-s", "4", "-b", "8", "-f", "1", "--backward-times", "2",
              "--schedule", "1f1b"});
}

BENCHMARK(nothing)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(help)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(timing_run)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(simgrid_run)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
