#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/platform/platform_verbs.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::cli {
namespace {

constexpr std::array verbs{
    Command{.name = "make",
            .help = "writes a cluster of any size as a SimGrid file",
            .run = make_platform_file},
    Command{.name = "show",
            .help = "GPUs, links, bisection, and the route of a pair",
            .run = show_platform},
    Command{
        .name = "check", .help = "finds what a file says but hardly means", .run = check_platform},
};

int print_help() {
  fmt::print("usage: pipewright platform VERB [ARGUMENTS]\n\n");
  for (const Command& verb : verbs) fmt::print("  {:<5}  {}\n", verb.name, verb.help);
  fmt::print(
      "\n'pipewright platform VERB --help' explains a verb by example. A first try:\n"
      "  pipewright platform show dgx-h100\n"
      "  pipewright platform make --node dgx-h100 --nodes 64 --fabric rail -o mine.xml\n"
      "  pipewright platform check mine.xml\n");
  return exit_ok;
}

}  // namespace

std::filesystem::path platform_path(const po::variables_map& given, const std::string& verb) {
  const std::vector<std::string> files = values(given, "file");
  if (files.size() != 1)
    throw UsageError(fmt::format("platform {}: one file, or a name of the library: {}", verb,
                                 fmt::join(config::library_names("clusters", ".xml"), ", ")));
  const std::string& word = files.front();
  if (config::is_library_name(word, ".xml")) return config::library_file("clusters", word, ".xml");
  return word;
}

int platform_command(const Arguments& arguments) {
  return run_verb("platform", verbs, arguments, print_help);
}

}  // namespace pipewright::cli
