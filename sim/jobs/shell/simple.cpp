#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/inner.hpp"
#include "sim/jobs/shell/parser.hpp"
#include "sim/jobs/shell/tools.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t max_recorded_words = 200'000;
constexpr int max_files = 8;

std::string plain(const Word& word) { return without_unset(without_marks(word.text)); }

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

}  // namespace

void Evaluator::note_key(const std::string& array) {
  shell_.not_followed(fmt::format(
      "an element of {} is not set, since only a running shell knows its index", array));
}

void Evaluator::assign(const Assignment& assignment) {
  const config::Origin origin{.source = shell_.file, .line = assignment.value.line, .column = 1};
  shell_.assigned = assignment.name;
  assign_value(assignment, origin);
  shell_.assigned.clear();
}

void Evaluator::assign_value(const Assignment& assignment, const config::Origin& origin) {
  if (assignment.is_array) {
    const Variable* const old = shell_.find(assignment.name);
    const bool associative = old != nullptr && old->associative;
    std::vector<Word> words;
    std::vector<std::pair<std::string, Word>> pairs;
    for (const RawWord& item : assignment.items) {
      const std::size_t close = item.raw.find("]=");
      if (item.raw.starts_with('[') && close != std::string::npos) {
        const auto key =
            expand_key(assignment.name, {item.raw.substr(1, close - 1), item.line}, shell_);
        if (!key) {
          note_key(assignment.name);
          continue;
        }
        pairs.emplace_back(*key,
                           Word{expand_to_text({item.raw.substr(close + 2), item.line}, shell_),
                                {.source = shell_.file, .line = item.line, .column = 1}});
        continue;
      }
      for (Word& word : expand_word(item, shell_)) {
        word.text = without_marks(word.text);
        words.push_back(std::move(word));
      }
    }
    if (assignment.appends && old != nullptr && !associative) {
      std::vector<Word> all = old->words;
      all.insert(all.end(), words.begin(), words.end());
      words = std::move(all);
    }
    if (!(assignment.appends && associative)) shell_.assign_array(assignment.name, words);
    for (auto& [key, word] : pairs) shell_.assign_element(assignment.name, key, std::move(word));
    return;
  }
  Word word{expand_to_text(assignment.value, shell_), origin};
  const Variable* const old = shell_.find(assignment.name);
  if (assignment.index) {
    const auto key =
        expand_key(assignment.name, {*assignment.index, assignment.value.line}, shell_);
    if (!key) return note_key(assignment.name);
    const Word* const element = old == nullptr ? nullptr : shell_.element(*old, *key);
    if (assignment.appends && element != nullptr) word.text = element->text + word.text;
    return shell_.assign_element(assignment.name, *key, std::move(word));
  }
  if (assignment.appends && old != nullptr && !old->words.empty()) {
    const bool moves = old->words.front().origin.source == shell_.file;
    const int first = old->words.front().origin.line;
    word.text = old->words.front().text +
                (moves && first != origin.line ? line_mark(origin.line) : "") + word.text;
    word.origin = old->words.front().origin;
    constexpr std::size_t max_value = 1U << 20U;
    if (word.text.size() > max_value)
      throw config::Error(shell_.here(), "a value has more than a million bytes");
  }
  shell_.assign(assignment.name, std::move(word));
}

void Evaluator::assign_for(const Node& node,
                           std::vector<std::pair<std::string, std::optional<Variable>>>& old) {
  for (const Part& part : node.parts) {
    if (!part.assignment) break;
    const Variable* const before = shell_.find(part.assignment->name);
    old.emplace_back(part.assignment->name,
                     before == nullptr ? std::nullopt : std::optional(*before));
    assign(*part.assignment);
    shell_.script.variables[part.assignment->name].exported = true;
  }
}

void Evaluator::run_simple(const Node& node) {
  std::vector<RawWord> raw;
  for (const Part& part : node.parts)
    if (!part.assignment || !raw.empty()) raw.push_back(part.word);
  if (raw.empty()) {
    shell_.status = true;
    for (const Part& part : node.parts) assign(*part.assignment);
    return;
  }
  static constexpr std::array<std::string_view, 5> declarers{"export", "declare", "local",
                                                             "readonly", "typeset"};
  if (std::ranges::find(declarers, raw.front().raw) != declarers.end())
    return declare(node, raw.front().raw);
  Words words = expand_words(raw, shell_);
  std::vector<std::pair<std::string, std::optional<Variable>>> old;
  assign_for(node, old);
  dispatch(node, words);
  for (auto& [name, variable] : old) {
    if (variable)
      shell_.script.variables[name] = std::move(*variable);
    else
      shell_.script.variables.erase(name);
  }
}

void Evaluator::dispatch(const Node& node, Words& words) {
  // A program that is an unset variable is nothing: $LAUNCHER python train.py.
  while (!words.empty() && words.front().may_vanish) {
    if (words.size() > 1 && shell_.script.written.contains(*unknown_in(words.front().text))) {
      words.erase(words.begin());
      continue;
    }
    break;
  }
  shell_.line = node.line;
  if (words.empty()) {
    shell_.status = true;
    return;
  }
  while (words.size() > 1 && (plain(words[0]) == "command" || plain(words[0]) == "builtin" ||
                              plain(words[0]) == "exec"))
    words.erase(words.begin());
  const std::string name = plain(words.front());
  Texts texts;
  for (const Word& word : words)
    if (!word.may_vanish) texts.push_back(plain(word));
  if (texts.empty()) texts.push_back(name);
  if (run_function(words)) return;
  if (run_builtin(name, node, words, texts)) return;
  const std::optional<std::string> input =
      input_ == nullptr ? std::nullopt : std::optional(input_->text.substr(input_->at));
  if (const auto output = run_tool(texts, input)) {
    write(output->text);
    shell_.status = output->success;
    return;
  }
  if (run_inner_shell(words) || run_inner_script(words)) return;
  record(words);
  if (output_ != nullptr) {
    foreign_ = true;
    write(unknown(fmt::format("$({})", fmt::join(texts, " "))));
  }
  shell_.status = std::nullopt;
}

void Evaluator::record(const Words& words) {
  std::vector<Word> command;
  for (const Words* part : {const_cast<const Words*>(&prefix_), &words})
    for (const Word& word : *part)
      command.push_back({without_marks(word.text), word.origin, word.may_vanish});
  shell_.charge(command.size());
  if (command.size() < max_recorded_words) shell_.script.commands.push_back(std::move(command));
}

bool Evaluator::run_function(const Words& words) {
  const auto it = shell_.script.functions.find(plain(words.front()));
  if (it == shell_.script.functions.end()) return false;
  const NodePtr body = it->second;
  Words arguments;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!words[i].may_vanish) arguments.push_back(words[i]);
  std::swap(shell_.arguments, arguments);
  shell_.enter();
  run(*body);
  if (flow_ == Flow::returns) flow_ = Flow::normal;
  shell_.leave();
  std::swap(shell_.arguments, arguments);
  return true;
}

bool Evaluator::run_inner_shell(const Words& words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (!is_shell(plain(words[i]))) continue;
    std::size_t at = i + 1;
    bool command = false;
    for (; at < words.size() && plain(words[at]).starts_with('-'); ++at) {
      const std::string option = plain(words[at]);
      command = command || (!option.starts_with("--") && option.find('c') != std::string::npos);
      if (option == "-o" && at + 1 < words.size()) ++at;
    }
    if (!command || at >= words.size()) return false;
    const Words prefix(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
    const auto rest = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const bool has_zero = rest != words.end();
    run_child(words[at].text, shell_.file, words[at].origin.line, prefix,
              has_zero ? plain(*rest) : "bash", has_zero ? Words(rest + 1, words.end()) : Words());
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

bool Evaluator::run_inner_script(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = plain(words[i]);
    if (!is_script(word)) continue;
    const bool starts = i == 0 || is_shell(plain(words[i - 1])) || plain(words[0]) == "sbatch" ||
                        plain(words[0]) == "srun" || plain(words[0]) == "salloc" ||
                        plain(words[0]) == "nohup";
    if (!starts) continue;
    const std::optional<std::string> path = path_of_script(word);
    if (!path || !shell_.script.read_file) return false;
    const std::filesystem::path folder = std::filesystem::path(shell_.file).parent_path();
    for (const std::filesystem::path& candidate :
         {folder / shell_.folder.value_or("") / *path, folder / *path}) {
      const std::string file = candidate.lexically_normal().string();
      const std::optional<std::string> text = shell_.script.read_file(file);
      if (!text) continue;
      const auto at = static_cast<std::ptrdiff_t>(i);
      const bool by_shell = i > 0 && is_shell(plain(words[i - 1]));
      run_child(*text, file, 1, Words(words.begin(), words.begin() + at - (by_shell ? 1 : 0)), word,
                Words(words.begin() + at + 1, words.end()));
      return true;
    }
    shell_.not_followed(fmt::format(
        "{}: the script is not beside this one, so what it starts is not read", readable(word)));
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
  const std::string written = plain(words[1]);
  const std::optional<std::string> path = path_of_script(written);
  const std::filesystem::path folder = std::filesystem::path(shell_.file).parent_path();
  if (path && shell_.script.read_file && files_ < max_files)
    for (const std::filesystem::path& candidate :
         {folder / shell_.folder.value_or("") / *path, folder / *path}) {
      const std::string file = candidate.lexically_normal().string();
      const std::optional<std::string> text = shell_.script.read_file(file);
      if (!text) continue;
      Words arguments(words.begin() + 2, words.end());
      const bool has_arguments = !arguments.empty();
      if (has_arguments) std::swap(arguments, shell_.arguments);
      const std::string outer_file = std::exchange(shell_.file, file);
      ++files_;
      run_text(*text, 1);
      --files_;
      if (flow_ == Flow::returns) flow_ = Flow::normal;
      shell_.file = outer_file;
      if (has_arguments) std::swap(arguments, shell_.arguments);
      return;
    }
  if (!is_environment(written))
    shell_.not_followed(
        fmt::format("{} {}: the file is not beside the script, so what it sets is missing",
                    plain(words[0]), readable(words[1].text)));
}

}  // namespace pipewright::jobs
