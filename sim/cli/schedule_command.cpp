#include <fmt/format.h>

#include "schedules/catalog.hpp"
#include "schedules/text/picture.hpp"
#include "schedules/text/torch_csv.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/fields.hpp"

namespace pipewright::cli {
namespace {

po::options_description show_options() {
  po::options_description options("options of 'show'", 100);
  auto add = options.add_options();
  const auto count = [] { return po::value<std::string>()->value_name("N"); };
  add("num-stages,s", count()->default_value("4"), "devices of the pipeline");
  add("num-batches,b", count()->default_value("8"), "microbatches of an iteration");
  add("iterations", count()->default_value("1"), "iterations, one after the other");
  add("chunks", count(), "stages per device");
  add("group-size", count(), "microbatches that pass a chunk before the next chunk's turn");
  add("format", po::value<std::string>()->default_value("text")->value_name("text|csv"),
      "text: a picture; csv: PyTorch's compute-only schedule file");
  add("help,h", "this text");
  return options;
}

int help() {
  fmt::print(
      "usage: pipewright schedule list\n"
      "       pipewright schedule show NAME [OPTIONS]\n\n"
      "  pipewright schedule show interleaved-1f1b -s 4 -b 8 --chunks 2\n"
      "  pipewright schedule show 1f1b -s 8 -b 32 --format csv > 1f1b.csv\n\n{}",
      describe(show_options()));
  return exit_ok;
}

int list() {
  for (const schedules::Entry& entry : schedules::catalog()) {
    fmt::print("{:<17} {}\n", entry.name, entry.help);
    if (entry.takes_chunks) fmt::print("{:<17}   --chunks V (2)\n", "");
    if (entry.takes_group_size)
      fmt::print("{:<17}   --group-size G (the smallest that fits, at least the devices)\n", "");
  }
  return exit_ok;
}

int show(const Arguments& arguments) {
  po::options_description all = show_options();
  all.add_options()("name", po::value<std::vector<std::string>>());
  const po::variables_map given = parse(arguments, all, "name");
  if (given.count("help") != 0) return help();
  const std::vector<std::string> names = values(given, "name");
  if (names.size() != 1)
    throw UsageError("schedule show: one schedule's name; see 'pipewright schedule list'");
  const auto optional = [&](const char* option) -> std::optional<std::uint32_t> {
    if (given.count(option) == 0) return std::nullopt;
    const config::Value value = config::make_text(given[option].as<std::string>(), {});
    return config::read_count({value, std::string("--") + option}, "8");
  };
  const schedules::Schedule schedule =
      schedules::make_schedule(names.front(), {.devices = *optional("num-stages"),
                                               .microbatches = *optional("num-batches"),
                                               .iterations = *optional("iterations"),
                                               .chunks = optional("chunks"),
                                               .group_size = optional("group-size")});
  const std::string format = given["format"].as<std::string>();
  if (format != "text" && format != "csv")
    throw UsageError(fmt::format("--format is '{}'; there are text and csv", format));
  fmt::print("{}",
             format == "csv" ? schedules::to_torch_csv(schedule) : schedules::draw_text(schedule));
  return exit_ok;
}

}  // namespace

int schedule_command(const Arguments& arguments) {
  const std::string verb = arguments.empty() ? "" : arguments.front();
  if (verb == "--help" || verb == "-h") return help();
  if (verb == "list") {
    if (arguments.size() > 1)
      throw UsageError(fmt::format("schedule list takes no '{}'", arguments[1]));
    return list();
  }
  if (verb == "show") return show({arguments.begin() + 1, arguments.end()});
  throw UsageError(fmt::format("schedule: 'list' or 'show', not '{}'", verb));
}

}  // namespace pipewright::cli
