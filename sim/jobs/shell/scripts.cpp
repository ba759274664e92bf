#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "sim/jobs/shell/batch.hpp"
#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/parser.hpp"

namespace pipewright::jobs {
namespace {

constexpr int max_files = 8;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_shell(const std::string& word) {
  const std::string name = file_name(word);
  return name == "bash" || name == "sh" || name == "dash" || name == "zsh";
}

bool is_script(const std::string& word) {
  return word.ends_with(".sh") || word.ends_with(".slurm") || word.ends_with(".sbatch") ||
         word.ends_with(".bash");
}

// Files that set up a terminal or an environment of Python, and no variable of a job.
bool is_environment(const std::string& path) {
  static constexpr std::array<std::string_view, 9> names{"activate",      ".bashrc",    ".profile",
                                                         ".bash_profile", "conda.sh",   ".zshrc",
                                                         "modules.sh",    "setvars.sh", "bash.sh"};
  const std::string name = file_name(path);
  return std::ranges::find(names, name) != names.end() || path.starts_with("/etc/");
}

// True if nothing of a text is known, as of the output of a program.
bool is_unknown(std::string_view text) {
  while (!text.empty() && text.front() == unknown_begin) text.remove_prefix(unknown_length(text));
  return text.find_first_not_of(" \n") == std::string_view::npos;
}

}  // namespace

bool Evaluator::run_inner_shell(const Words& words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (!is_shell(plain_text(words[i]))) continue;
    std::size_t at = i + 1;
    bool command = false;
    for (; at < words.size() && plain_text(words[at]).starts_with('-'); ++at) {
      const std::string option = plain_text(words[at]);
      command = command || (!option.starts_with("--") && option.find('c') != std::string::npos);
      if (option == "-o" && at + 1 < words.size()) ++at;
    }
    if (!command || at >= words.size()) return false;
    const Words prefix(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
    const auto rest = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const bool has_zero = rest != words.end();
    run_child(words[at].text, shell_.file, words[at].origin.line, prefix,
              has_zero ? plain_text(*rest) : "bash",
              has_zero ? Words(rest + 1, words.end()) : Words());
    return true;
  }
  return false;
}

std::optional<std::string> Evaluator::path_of_script(const std::string& written) const {
  // A file after an unknown folder, as in $HOME/job/common.sh, is looked for beside the script.
  const std::size_t end = written.rfind(unknown_end);
  std::string path = end == std::string::npos ? written : written.substr(end + 1);
  const bool absolute = end == std::string::npos && path.starts_with('/');
  while (path.starts_with('/') && !absolute) path.erase(0, 1);
  if (path.empty() || unknown_in(path)) return std::nullopt;
  return path;
}

std::optional<Evaluator::Found> Evaluator::find_script(const std::string& written) const {
  if (const auto path = shell_.path_of(written))
    if (const auto it = shell_.files.find(*path); it != shell_.files.end())
      return Found{shell_.file, it->second};
  const std::optional<std::string> path = path_of_script(written);
  if (!path || !shell_.script.read_file) return std::nullopt;
  // A sourced script may name files by the folder of the script that sources it.
  const std::filesystem::path folder = std::filesystem::path(shell_.file).parent_path();
  const std::filesystem::path start = std::filesystem::path(start_).parent_path();
  for (const std::filesystem::path& candidate :
       {folder / shell_.folder.value_or("") / *path, folder / *path, start / *path}) {
    std::string file = candidate.lexically_normal().string();
    if (std::optional<std::string> text = shell_.script.read_file(file))
      return Found{std::move(file), std::move(*text)};
  }
  return std::nullopt;
}

// A shell or sbatch without a file reads its script from the input.
bool Evaluator::run_input(const Words& words) {
  if (input_ == nullptr || is_unknown(input_->text)) return false;
  const std::string last = plain_text(words.back());
  const bool shell_reads =
      is_shell(last) || (words.size() > 1 && is_shell(plain_text(words.rbegin()[1])) &&
                         (last == "-s" || last == "-"));
  const bool batch_reads = plain_text(words.front()) == "sbatch";
  if (!shell_reads && !batch_reads) return false;
  const std::string text = input_->text.substr(input_->at);
  if (batch_reads) {
    read_batch_lines(text, shell_.file, shell_.script);
    set_batch_variables(shell_.script);
  }
  const auto end = shell_reads ? words.end() - (is_shell(last) ? 1 : 2) : words.end();
  run_child(text, shell_.file, shell_.line + 1, Words(words.begin(), end), "bash", {});
  return true;
}

bool Evaluator::run_inner_script(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = plain_text(words[i]);
    // A shell runs a file of any name.
    const bool by_shell = i > 0 && is_shell(plain_text(words[i - 1]));
    if (!is_script(word) && (!by_shell || word.starts_with('-'))) continue;
    const bool starts = i == 0 || by_shell || plain_text(words[0]) == "sbatch" ||
                        plain_text(words[0]) == "srun" || plain_text(words[0]) == "salloc" ||
                        plain_text(words[0]) == "nohup";
    if (!starts) continue;
    if (const std::optional<Found> found = find_script(word)) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      run_child(found->text, found->file, 1,
                Words(words.begin(), words.begin() + at - (by_shell ? 1 : 0)), word,
                Words(words.begin() + at + 1, words.end()));
      return true;
    }
    if (!is_script(word)) continue;
    shell_.not_followed(readable(word),
                        "the script is not beside this one, so what it starts is not read");
    return false;
  }
  return false;
}

void Evaluator::run_text(std::string_view text, int line) {
  const NodePtr tree = parse_script(text, shell_.file, line);
  add_written(*tree, shell_.script.written);
  run(*tree);
}

void Evaluator::run_child(std::string_view text, std::string file, int line, const Words& prefix,
                          std::string zero, Words arguments) {
  if (files_ >= max_files)
    throw config::Error(shell_.here(), "scripts that start one another are nested too deeply");
  const Inner inner(*this);
  std::erase_if(shell_.script.variables, [](const auto& entry) {
    return (!entry.second.exported && !entry.second.from_user) || entry.second.array;
  });
  std::erase_if(arguments, [](const Word& word) { return word.may_vanish; });
  for (Word& argument : arguments) argument.text = without_marks(argument.text);
  const std::string outer_file = std::exchange(shell_.file, std::move(file));
  const std::string outer_zero = std::exchange(shell_.zero, std::move(zero));
  const Words outer_prefix = prefix_;
  prefix_.insert(prefix_.end(), prefix.begin(), prefix.end());
  shell_.arguments = std::move(arguments);
  ++files_;
  run_text(text, line);
  --files_;
  prefix_ = outer_prefix;
  shell_.file = outer_file;
  shell_.zero = outer_zero;
}

void Evaluator::source(const Words& words) {
  shell_.status = true;
  if (words.size() < 2) return;
  const std::string written = plain_text(words[1]);
  const std::optional<Found> found = files_ < max_files ? find_script(written) : std::nullopt;
  if (found) {
    Words arguments(words.begin() + 2, words.end());
    const bool has_arguments = !arguments.empty();
    if (has_arguments) std::swap(arguments, shell_.arguments);
    const std::string outer_file = std::exchange(shell_.file, found->file);
    ++files_;
    run_text(found->text, 1);
    --files_;
    if (flow_ == Flow::returns) flow_ = Flow::normal;
    shell_.file = outer_file;
    if (has_arguments) std::swap(arguments, shell_.arguments);
    return;
  }
  if (!is_environment(written))
    shell_.not_followed(fmt::format("{} {}", plain_text(words[0]), readable(words[1].text)),
                        "the file is not beside the script, so what it sets is missing");
}

}  // namespace pipewright::jobs
