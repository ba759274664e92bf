#include "sim/jobs/megatron/bash.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "sim/jobs/shell/batch.hpp"
#include "sim/jobs/shell/quote.hpp"
#include "sim/jobs/shell/sandbox.hpp"

namespace pipewright::jobs {
namespace {

// Records the words of a program in a file of its own, after those of the programs that started
// the shell. A shell that the program starts, and a script that it runs, run too. A program whose
// output the script reads has a second file.
constexpr std::string_view recorder = R"(#!/bin/bash
record() {
  local name="/records/$EPOCHREALTIME.$BASHPID.$RANDOM"
  { [ -z "$PIPEWRIGHT_OUTER" ] || cat "$PIPEWRIGHT_OUTER"; printf '%s\0' "$@"; } > "/tmp/${name##*/}"
  [ ! -p /dev/fd/1 ] || cp "/tmp/${name##*/}" "/records/read.${name##*/}"
  local -a words=("$@")
  local i
  for ((i = 1; i < $#; i++)); do
    case "${words[i]##*/}" in
      bash | sh)
        local j=$((i + 1))
        while [[ ${words[j]} == -* && ${words[j]} != *c* ]]; do j=$((j + 1)); done
        local next=${words[j]}
        if [[ $next == -*c* && $next != --* ]] || [[ $next == *.sh ]]; then
          { [ -z "$PIPEWRIGHT_OUTER" ] || cat "$PIPEWRIGHT_OUTER"
            printf '%s\0' "${words[@]:0:i}"; } > "/tmp/outer.${name##*/}"
          PIPEWRIGHT_OUTER="/tmp/outer.${name##*/}" bash "${words[@]:i + 1}"
          return
        fi ;;
      *.sh | *.slurm | *.sbatch)
        case "$1" in
          srun | sbatch | salloc | nohup)
            if [ -r "${words[i]}" ]; then
              bash "${words[@]:i}"
              return
            fi ;;
        esac ;;
    esac
  done
  if [ "$1" = sbatch ] || [[ "${words[$# - 1]##*/}" = bash ]]; then
    PIPEWRIGHT_OUTER= bash -s
  fi
  cp "/tmp/${name##*/}" "$name"
}
)";

constexpr std::array names{
    "torchrun", "python",      "python3",   "python3.10", "deepspeed", "srun",    "mpirun",
    "mpiexec",  "accelerate",  "sbatch",    "salloc",     "nohup",     "timeout", "numactl",
    "docker",   "singularity", "apptainer", "enroot",     "ssh",       "pdsh",    "megatron",
    "swift",    "ray",         "nsys",      "rocprof",    "taskset",   "stdbuf",  "time",
    "sudo",     "conda",       "uv",        "ds",         "torchx"};

std::vector<Word> words_of(std::string_view record, const std::string& source) {
  std::vector<Word> words;
  while (!record.empty()) {
    const std::size_t end = std::min(record.find('\0'), record.size());
    words.push_back({std::string(record.substr(0, end)), {.source = source}});
    record.remove_prefix(std::min(end + 1, record.size()));
  }
  if (!words.empty()) words[0].text = words[0].text.substr(words[0].text.rfind('/') + 1);
  return words;
}

// Lists a program that does not run here, and whose output the script reads. The output of a
// training command is a log.
void note_read_output(std::span<const Word> command, const std::string& source, Script& script) {
  const std::string& program = command.front().text;
  const bool computes =
      program.starts_with("python") &&
      std::ranges::any_of(command, [](const Word& word) { return word.text == "-c"; });
  if (std::ranges::find(names, program) != names.end() && !computes) return;
  std::string text;
  for (const Word& word : command) text += (text.empty() ? "" : " ") + word.text;
  const bool is_listed = std::ranges::any_of(
      script.unfollowed, [&](const Unfollowed& place) { return place.text == text; });
  if (!is_listed)
    script.unfollowed.push_back(
        {.text = std::move(text),
         .why = "the program does not run here, so that the script reads an empty output",
         .origin = {.source = source}});
}

// The folder that bash sees: the working folder of this program if the script lies below it.
std::filesystem::path visible_folder(const std::filesystem::path& script) {
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  const std::filesystem::path below = script.lexically_relative(here);
  return !below.empty() && *below.begin() != ".." ? here : script.parent_path();
}

}  // namespace

void run_with_bash(std::span<const Source> sources, const JobWords& words, Script& script) {
  for (const Source& source : sources) read_batch_lines(source.text, source.name, script);
  set_batch_variables(script);
  SandboxRun run{.text = {},
                 .folder = {},
                 .variables = script.batch_variables,
                 .replaced = {names.begin(), names.end()},
                 .replacement = fmt::format("{}record \"${{0##*/}}\" \"$@\"\n", recorder)};
  std::vector<std::string> arguments;
  for (const auto& [name, value] : words.variables) {
    run.variables.emplace_back(name, value);
    if (name == fmt::format("{}", arguments.size() + 1)) arguments.push_back(value);
  }
  const std::filesystem::path last =
      std::filesystem::absolute(sources.back().name).lexically_normal();
  run.folder = last.parent_path().string();
  run.visible = visible_folder(last).string();
  // Programs that bash does not find are recorded, too. Files that are missing here do not end a
  // script.
  run.start = fmt::format(
      "{}command_not_found_handle() {{ record \"$@\"; }}\nset -T; trap 'set +eu' DEBUG\n",
      recorder);
  for (const Source& source : sources.first(sources.size() - 1))
    run.text +=
        fmt::format("source {}\n", shell_word(std::filesystem::absolute(source.name).string()));
  run.text += fmt::format("{}bash {}", sources.size() > 1 ? "set -a; " : "",
                          shell_word(last.filename().string()));
  for (const std::string& argument : arguments) run.text += " " + shell_word(argument);
  SandboxResult result = run_in_sandbox(run);
  if (result.timed_out)
    throw config::Error(
        fmt::format("{}: bash runs the script longer than the time limit", sources.back().name))
        .suggest("leave out what waits, such as loops over nodes");
  std::ranges::sort(result.records);
  for (const auto& [name, record] : result.records) {
    std::vector<Word> command = words_of(record, sources.back().name);
    if (command.empty()) continue;
    if (name.starts_with("read."))
      note_read_output(command, sources.back().name, script);
    else
      script.commands.push_back(std::move(command));
  }
}

}  // namespace pipewright::jobs
