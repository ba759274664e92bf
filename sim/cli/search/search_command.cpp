#include <algorithm>
#include <filesystem>
#include <memory>

#include "sim/cli/commands.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/cli/search/worker.hpp"
#include "sim/search/local_workers.hpp"

namespace pipewright::cli {
namespace {

int serve(const Arguments& arguments) {
  po::options_description options = sweep_options();
  options.add_options()("serve", "")("scenario", po::value<std::vector<std::string>>());
  return serve_search(read_worker_settings(parse(arguments, options, "scenario")));
}

}  // namespace

int search_command(const Arguments& arguments) {
  if (std::ranges::find(arguments, "--serve") != arguments.end()) return serve(arguments);
  return sweep_command(arguments, [](const WorkerSettings& settings) {
    std::vector<std::string> command = worker_words(settings);
    command.insert(command.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
    return std::make_unique<search::LocalWorkers>(settings.jobs, std::move(command));
  });
}

}  // namespace pipewright::cli
