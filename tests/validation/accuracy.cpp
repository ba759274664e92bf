// Predicts published measurements and prints every error. Fails if a bar is missed. Words on the
// command line ask for the tables that have one of them in their titles. With all tables, the file
// of errors that the program reads and the tables in README.md and docs/ are compared with today's
// predictions; --write updates them. With all tables, or with --derived, GPUs are also predicted as
// if nobody had measured them. --rows FILE writes all rows with their kinds as CSV.
//
// Rows of papers' tables stand in the files beside this one. Those that come from a repository's
// data are read where they lie: in $PIPEWRIGHT_REFERENCE, or else ../shared/reference beside the
// project.

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "sim/config/text/library.hpp"
#include "support/reference.hpp"
#include "validation/accuracy_derived.hpp"
#include "validation/capabilities.hpp"

using namespace pipewright;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Compares a file with the text that follows from today's predictions, or writes the text. Returns
// false if the file has another text.
bool check_file(const std::filesystem::path& file, const std::string& today, bool write) {
  if (text_of(file) == today) return true;
  if (write) {
    std::ofstream(file) << today;
    fmt::print("wrote {}\n", file.string());
    return true;
  }
  fmt::print("{} is not of today's predictions; --write updates it: MISSED\n", file.string());
  return false;
}

// Returns the text of a page in which the block between `<!-- shared: NAME; .. -->` and
// `<!-- end of NAME -->` has these lines.
std::string with_block(const std::string& page, const std::string& name, const std::string& lines) {
  const std::size_t start = page.find("-->\n", page.find("<!-- shared: " + name + ";"));
  const std::size_t end = page.find("<!-- end of " + name + " -->");
  if (start == std::string::npos || end == std::string::npos) return page;
  return page.substr(0, start) + "-->\n\n" + lines + "\n" + page.substr(end);
}

// Compares, or writes, the files whose texts follow from the predictions of all tables: the errors
// by kind of run, which the program reads, and the tables in pages. Returns false if a file has
// another text.
bool check_files(const std::vector<accuracy::Table>& tables, bool write) {
  const std::filesystem::path bands = config::library_file("accuracy", "iterations", ".csv");
  const std::filesystem::path root = bands.parent_path().parent_path().parent_path();
  bool is_current = check_file(bands, accuracy::bands(tables), write);
  for (const char* name : {"README.md", "docs/accuracy.md"}) {
    const std::filesystem::path page = root / name;
    std::string today = with_block(text_of(page), "accuracy", accuracy::overview(tables));
    today = with_block(today, "capabilities", accuracy::capability_table(tables));
    is_current = check_file(page, today, write) && is_current;
  }
  return is_current;
}

// Removes an option and its value from the words; nothing without the option.
std::optional<std::string> take_value(std::vector<std::string>& words, const std::string& option) {
  const auto found = std::ranges::find(words, option);
  if (found == words.end() || std::next(found) == words.end()) return std::nullopt;
  std::string value = *std::next(found);
  words.erase(found, found + 2);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path reference = tests::reference_folder();
  std::vector<accuracy::Table> tables{
      accuracy::zero_bubble_throughput(),      accuracy::zero_bubble_memory(),
      accuracy::megatron_iterations(),         accuracy::recompute_iterations(),
      accuracy::vtrain_iterations(reference),  accuracy::vocabulary_iterations(reference),
      accuracy::vtrain_single_node(reference), accuracy::llama_iterations(),
      accuracy::laer_moe(reference),           accuracy::recompute_layers(),
      accuracy::zero_bubble_passes(),          accuracy::zero_bubble_measured(),
      accuracy::nemo_2407(reference),          accuracy::grid_search(),
  };
  for (const auto source :
       {accuracy::sailor,          accuracy::simumax,         accuracy::nemo,
        accuracy::megatron_bridge, accuracy::torchtitan,      accuracy::vocabulary_models,
        accuracy::bridge_experts,  accuracy::bridge_pairs,    accuracy::fine_tuning,
        accuracy::mlperf,          accuracy::megatron_tests,  accuracy::megatron_releases,
        accuracy::moe_folding,     accuracy::nemo_blackwell,  accuracy::amd,
        accuracy::llm_foundry,     accuracy::torchtitan_runs, accuracy::automodel,
        accuracy::internevo,       accuracy::nanotron,        accuracy::bloom_prequel,
        accuracy::bridge_cards})
    for (accuracy::Table& table : source(reference)) tables.push_back(std::move(table));
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool writes = std::erase(words, "--write") > 0;
  const std::optional<std::string> rows_file = take_value(words, "--rows");
  const bool derives = std::erase(words, "--derived") > 0 || words.empty();
  std::erase_if(tables, [&](const accuracy::Table& table) {
    return !words.empty() && std::ranges::none_of(words, [&](const std::string& word) {
      return table.title.find(word) != std::string::npos;
    });
  });
  if (tables.empty()) {
    fmt::print(stderr, "no table's title has any of these words\n");
    return 2;
  }
  try {
    accuracy::predict(tables);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  int missed = 0;
  for (const accuracy::Table& table : tables) missed += accuracy::print(table) ? 0 : 1;
  if (rows_file) std::ofstream(*rows_file) << accuracy::rows_csv(tables);
  fmt::print("{}\n{}\n", accuracy::overview(tables), accuracy::capability_table(tables));
  if (derives && !accuracy::print_derived(tables)) ++missed;
  const bool complete = words.empty() && std::ranges::all_of(tables, [](const auto& table) {
                          return table.skipped.empty();
                        });
  if (complete && !check_files(tables, writes)) ++missed;
  if (complete && !accuracy::print_coverage(tables)) ++missed;
  if (writes && !complete) fmt::print("--write needs all tables, so nothing was written\n");
  fmt::print("* the GPU's parameters were fitted to this row, among others: platforms/README.md\n");
  if (missed > 0) fmt::print("{} of {} tables MISSED\n", missed, tables.size());
  return missed == 0 ? 0 : 1;
}
