#include "sim/cli/trace/measured_options.hpp"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "analysis/import/file_kind.hpp"
#include "analysis/text_table.hpp"
#include "sim/cli/progress.hpp"

namespace pipewright::cli {
namespace {

std::uint32_t number(const po::variables_map& given, const char* option, std::uint32_t least) {
  const std::string text = given[option].as<std::string>();
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    throw UsageError(fmt::format("--{} is '{}'; allowed: a whole number from {} on", option,
                                 analysis::printable(text), least));
  return value;
}

}  // namespace

void add_measured_options(po::options_description& options) {
  auto add = options.add_options();
  add("skip", one_word("N"), "leave out the first N iterations (0)");
  add("pattern", one_word("REGEX"), "how annotations that mark passes are called");
  add("category", one_word("NAME"), "only events of this category, such as user_annotation");
  add("microbatches", one_word("N"), "of an iteration, where annotations have no numbers");
  add("align", "shift the clocks of ranks that contradict each other");
}

analysis::ImportOptions measured_options(const po::variables_map& given) {
  analysis::ImportOptions options;
  if (given.count("pattern") != 0) options.pattern = given["pattern"].as<std::string>();
  if (given.count("category") != 0) options.category = given["category"].as<std::string>();
  if (given.count("microbatches") != 0) options.microbatches = number(given, "microbatches", 1);
  if (given.count("skip") != 0) options.skip = number(given, "skip", 0);
  options.align = given.count("align") != 0;
  return options;
}

std::vector<std::filesystem::path> expand_ranks(const std::vector<std::string>& names) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : names)
    for (auto& file : analysis::rank_files(name)) files.push_back(std::move(file));
  return files;
}

analysis::MeasuredRun read_measured(const std::vector<std::filesystem::path>& files,
                                    const analysis::ImportOptions& options) {
  ProgressBar bar("reading", true);
  return analysis::import_chrome(files, options, [&](double share) {
    if (bar.is_due()) bar.draw(share, fmt::format("{} files", files.size()));
  });
}

std::string measured_name(const std::vector<std::filesystem::path>& files) {
  const std::string first = files.front().string();
  return files.size() == 1 ? first : fmt::format("{} and {} more", first, files.size() - 1);
}

}  // namespace pipewright::cli
