#include <fmt/format.h>

#include "sim/jobs/job.hpp"
#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/shell/quote.hpp"

namespace pipewright::jobs {
namespace {

// Word of a shell in which known parts are quoted and unknown parts are expanded.
std::string quoted(const Word& word) {
  std::string text;
  for (std::string_view rest = word.text; !rest.empty();) {
    const bool is_unknown = rest.front() == unknown_begin;
    const std::size_t length =
        is_unknown ? unknown_length(rest) : std::min(rest.find(unknown_begin), rest.size());
    const std::string part(rest.substr(0, length));
    if (!is_unknown)
      text += shell_word(part);
    else if (word.may_vanish)
      text += readable(part);
    else
      text += fmt::format("\"{}\"", readable(part));
    rest.remove_prefix(length);
  }
  return text.empty() ? "''" : text;
}

}  // namespace

CommandLine command_line(std::span<const std::string> files, const JobWords& words) {
  std::vector<Source> sources;
  for (const std::string& file : files)
    if (Source source = read_source(file); SourceText(source).may_be_shell())
      sources.push_back(std::move(source));
  if (sources.empty())
    throw config::Error(fmt::format("{} is no shell script", files.front()))
        .suggest("give a script that starts a training");
  const Script script = run_scripts(sources, words);
  CommandLine line;
  for (const Word& word : training_command(script))
    line.text += (line.text.empty() ? "" : " ") + quoted(word);
  line.not_followed = notes_of(script);
  if (line.text.empty() && script.ended_at)
    throw config::Error(*script.ended_at,
                        "the script exits here, before it starts a training command");
  if (line.text.empty())
    throw config::Error(fmt::format("{}: no command has flags of a training", sources.back().name));
  return line;
}

}  // namespace pipewright::jobs
