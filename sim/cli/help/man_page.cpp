#include "sim/cli/help/man_page.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/help/topics.hpp"
#include "sim/cli/options.hpp"

namespace pipewright::cli {
namespace {

struct Status {
  ExitStatus status;
  std::string_view meaning;
};
constexpr std::array statuses{
    Status{exit_ok, "Success."},
    Status{exit_findings,
           "A check has findings, a condition holds, or a search found no candidate."},
    Status{exit_user_error, "Error in the input; the message explains it."},
    Status{exit_does_not_fit, "A device exceeds its memory, with run --require-fit."},
    Status{exit_our_fault, "Internal error of the program."},
    Status{exit_interrupted, "Interrupted before the end."},
};

// Escapes a line for man, which would take a leading dot or apostrophe for a request.
std::string escaped(std::string_view text) {
  std::string plain = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text)
    if (c == '\\')
      plain += "\\e";
    else if (c == '-')
      plain += "\\-";
    else
      plain += c;
  return plain;
}

// Breaks a paragraph into lines of about 76 columns, which man joins and fills again.
std::string prose(std::string_view text) {
  constexpr std::size_t columns = 76;
  std::string lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = std::min(begin + columns, text.size());
    if (end < text.size()) {
      const std::size_t space = text.rfind(' ', end);
      end = space == std::string_view::npos || space <= begin ? text.find(' ', end) : space;
      end = std::min(end, text.size());
    }
    lines += escaped(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return lines;
}

// Captures the text that a function prints on standard output.
template <class Print>
std::string captured_output(const Print& print) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File file(std::tmpfile(), std::fclose);
  if (!file) throw std::runtime_error("cannot create a temporary file");
  std::fflush(stdout);
  const int standard_output = dup(STDOUT_FILENO);
  dup2(fileno(file.get()), STDOUT_FILENO);
  print();
  std::fflush(stdout);
  dup2(standard_output, STDOUT_FILENO);
  close(standard_output);
  std::rewind(file.get());
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), file.get()))
    text.append(part.data(), read);
  return text;
}

std::string options_text(const po::options_description& options) {
  std::string text;
  for (const auto& option : options.options()) {
    const std::string dashed = option->canonical_display_name(
        po::command_line_style::allow_dash_for_short | po::command_line_style::allow_long);
    const std::string letter =
        option->canonical_display_name(po::command_line_style::allow_dash_for_short);
    const std::string name = "--" + option->long_name();
    text += ".TP\n";
    if (letter != name && letter != dashed) text += fmt::format("\\fB{}\\fR, ", escaped(letter));
    text += fmt::format("\\fB{}\\fR", escaped(name));
    if (option->semantic()->max_tokens() > 0)
      text += fmt::format(" \\fI{}\\fR", escaped(option->semantic()->name()));
    text += "\n" + prose(option->description());
  }
  return text;
}

// Section of the manual page for a command: its --help text, with the options as man macros.
std::string command_text(const std::string& name, const Command& command) {
  std::string text = fmt::format(".SS pipewright {}\n", escaped(name));
  const std::string help = captured_output([&] { run(command, {"--help"}); });
  if (command.run == nullptr) return text + man_text(help);
  const po::options_description options = syntax_of(command).options;
  const std::string described = describe(options);
  const std::size_t at = help.find(described);
  if (at == std::string::npos || options.options().empty()) return text + man_text(help);
  text += man_text(std::string_view(help).substr(0, at));
  text += options_text(options);
  return text + man_text(std::string_view(help).substr(at + described.size()));
}

}  // namespace

std::string man_text(std::string_view help) {
  std::string text;
  bool is_code = false;
  bool begins = false;  // a paragraph after the first
  const auto end_code = [&] {
    if (is_code) text += ".fi\n.RE\n";
    is_code = false;
  };
  for (std::size_t start = 0; start < help.size();) {
    const std::size_t end = std::min(help.find('\n', start), help.size());
    const std::string_view line = help.substr(start, end - start);
    start = end + 1;
    if (line.empty()) {
      end_code();
      begins = true;
      continue;
    }
    const bool is_indented = line.starts_with(' ') || line.starts_with("usage:");
    if (!is_indented) end_code();
    if (begins && !text.empty()) text += ".PP\n";
    if (is_indented && !is_code) text += ".RS 4\n.nf\n";
    is_code = is_indented;
    begins = false;
    text += is_indented ? escaped(line) + "\n" : prose(line);
  }
  end_code();
  return text;
}

std::string man_page() {
  std::string text =
      ".\\\" Printed by 'pipewright help --man'.\n"
      ".TH PIPEWRIGHT 1 " PIPEWRIGHT_DATE " \"pipewright " PIPEWRIGHT_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\n"
      "pipewright, pipewright-mpi \\- predict pipeline-parallel training on GPUs\n"
      ".SH SYNOPSIS\n"
      ".B pipewright\n.I COMMAND\n.RI [ ARGUMENTS ]\n.br\n"
      ".B pipewright help\n.RI [ TOPIC ]\n.br\n"
      ".B mpirun \\-n\n.I RANKS\n.B pipewright\\-mpi search\n.I SWEEP\n.RI [ OPTIONS ]\n"
      ".SH DESCRIPTION\n"
      "A discrete-event simulator of the training of large models. From a model, its\n"
      "parallel sizes, a schedule and a cluster it predicts and draws the time of an\n"
      "iteration, bubbles, exposed communication and memory.\n"
      ".B pipewright\\-mpi\nspreads a search over many machines.\n.PP\n"
      ".B pipewright help\nhas a page on each of these topics:\n";
  for (const Topic& topic : topics())
    text += fmt::format(".TP\n.B {}\n{}", escaped(topic.name),
                        prose(question(embedded_page(topic.path))));
  text += ".SH COMMANDS\n";
  for (const Command& command : commands()) {
    const std::string name(command.name);
    text += command_text(name, command);
    for (const Command& verb : command.verbs)
      text += command_text(fmt::format("{} {}", name, verb.name), verb);
  }
  text += ".SH EXIT STATUS\n";
  for (const Status& row : statuses)
    text += fmt::format(".TP\n.B {}\n{}", static_cast<int>(row.status), prose(row.meaning));
  return text +
         ".SH ENVIRONMENT\n.TP\n.B PIPEWRIGHT_PLATFORMS\n"
         "Folders of further clusters, models and GPUs, separated by colons. They are\n"
         "searched before the library that is installed beside the program.\n"
         ".SH SEE ALSO\n.BR mpirun (1)\n";
}

}  // namespace pipewright::cli
