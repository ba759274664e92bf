#include "sim/config/lengths.hpp"

#include <cctype>
#include <cmath>
#include <fstream>
#include <span>
#include <string>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/base/numbers.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/readable.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 3> balance_names{"none", "length", "context_parallel"};
constexpr std::array<std::string_view, 3> packing_names{"cut", "first_fit_shuffle",
                                                        "first_fit_decreasing"};
constexpr std::array<std::string_view, 2> pad_names{"longest", "sequence"};
constexpr std::uint32_t max_tokens = 1U << 28U;
constexpr std::size_t max_lines = 10'000'000;
constexpr double quantile_95 = 1.6448536269514722;  // of the normal distribution

std::filesystem::path read_file(const Field& field) {
  return existing_path(field, "a file with one length per line, or lines length,count");
}

std::vector<std::uint32_t> read_documents(const Field& field) {
  constexpr std::string_view allowed = "a list of lengths in tokens, such as [512, 2048]";
  std::vector<std::uint32_t> lengths;
  for (const Field& item : items(field, allowed)) lengths.push_back(read_count(item, "512"));
  if (lengths.empty()) throw wrong(field, allowed);
  return lengths;
}

constexpr std::array lengths_table{
    Key<Lengths>{
        {.name = "file",
         .help = "file of document lengths in tokens, one per line, or lines length,count"},
        into<&Lengths::file, read_file>({ValueType::path})},
    Key<Lengths>{
        {.name = "documents", .help = "list of document lengths in tokens, repeated as needed"},
        into<&Lengths::documents, read_documents>({ValueType::count, true})},
    Key<Lengths>{
        {.name = "mean", .help = "mean of a lognormal distribution of lengths", .unit = "tokens"},
        number<&Lengths::mean, "a mean length in tokens such as 1200">},
    Key<Lengths>{
        {.name = "p95", .help = "95th percentile of the lognormal distribution", .unit = "tokens"},
        number<&Lengths::p95, "a length in tokens such as 4000">},
    Key<Lengths>{
        {.name = "shortest",
         .help = "minimum of drawn lengths; without mean and p95 the distribution is uniform",
         .unit = "tokens",
         .default_value = "1"},
        count<&Lengths::shortest, "1">},
    Key<Lengths>{{.name = "longest",
                  .help = "maximum of drawn lengths",
                  .unit = "tokens",
                  .default_value = "training.sequence"},
                 count<&Lengths::longest, "8192">},
    Key<Lengths>{{.name = "packed",
                  .help = "pack documents into samples, without attention between documents; else "
                          "one document per sample",
                  .default_value = "true"},
                 flag<&Lengths::packed>},
    Key<Lengths>{
        {.name = "packing",
         .help = "packing of documents into samples (cut at the end of a sample; or whole, by "
                 "first fit in random order or the longest first, as NeMo packs)",
         .default_value = "cut"},
        choice<&Lengths::packing, packing_names>},
    Key<Lengths>{
        {.name = "balance",
         .help = "assignment of documents (none keeps their order, length balances replicas, "
                 "context_parallel balances the ranks of dp x cp, of which each document has as "
                 "many as its length needs)",
         .default_value = "none"},
        choice<&Lengths::balance, balance_names>},
    Key<Lengths>{{.name = "tokens_per_rank",
                  .help = "most tokens of a document on a rank with balance: context_parallel, "
                          "Megatron-LM's --max-seqlen-per-dp-cp-rank",
                  .unit = "tokens"},
                 count<&Lengths::tokens_per_rank, "8192">},
    Key<Lengths>{
        {.name = "pad_to",
         .help = "padding of samples of whole documents (to the longest of a microbatch, or "
                 "to the sequence length)",
         .default_value = "longest"},
        choice<&Lengths::pad_to, pad_names>},
};

// Keys of the lengths alone, which come before those of packing.
constexpr std::size_t packing_begins = 6;
static_assert(lengths_table[packing_begins].info.name == "packed");
constexpr auto unpacked_table = std::span(lengths_table).first<packing_begins>();

// Creates the error for a line of a length file: "lengths.csv:7: 'abc' is no length; allowed: ...".
Error bad_line(const std::filesystem::path& file, std::size_t line, std::string_view text) {
  return Error({.source = fmt::format("{}:{}", file.string(), line)},
               fmt::format("'{}' is no length", text))
      .allow(fmt::format(
          "a whole number of tokens from 1 to {}, and after a comma the number of such documents",
          max_tokens));
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Reads document lengths from a file: one column (length) or two (length, count). A first line that
// begins with a letter is a header.
void load_lengths(const std::filesystem::path& file, Lengths& lengths) {
  check_readable(file);
  std::ifstream in(file);
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string_view text = trimmed(line);
    const bool is_header =
        number == 1 && !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0;
    if (text.empty() || text.front() == '#' || is_header) continue;
    const std::size_t comma = text.find(',');
    Lengths::Bin bin;
    bin.tokens =
        base::parse_number<decltype(bin.tokens)>(trimmed(text.substr(0, comma))).value_or(0);
    if (bin.tokens == 0 || bin.tokens > max_tokens) throw bad_line(file, number, text);
    const bool has_weight = comma != std::string_view::npos;
    if (has_weight) {
      const auto weight = base::parse_number<double>(trimmed(text.substr(comma + 1)));
      if (!weight || *weight < 0 || !std::isfinite(*weight)) throw bad_line(file, number, text);
      bin.weight = *weight;
    }
    if (has_weight ? !lengths.documents.empty() : !lengths.histogram.empty())
      throw Error({.source = fmt::format("{}:{}", file.string(), number)},
                  "the file mixes lines with a count and lines without")
          .allow("the same number of columns in all lines");
    if (has_weight)
      lengths.histogram.push_back(bin);
    else
      lengths.documents.push_back(bin.tokens);
    if (lengths.histogram.size() + lengths.documents.size() > max_lines)
      throw Error({.source = file.string()}, fmt::format("more than {} lines", max_lines))
          .allow("fewer, or a histogram of lines length,count");
  }
  double weight = 0;
  for (const Lengths::Bin& bin : lengths.histogram) weight += bin.weight;
  if (lengths.documents.empty() && weight <= 0)
    throw Error({.source = file.string()}, "the file has no lengths")
        .allow("one length per line, such as 512");
}

// Checks that the lengths are given in exactly one way: a file, a list, or a distribution.
void check_lengths(const Field& field, const Lengths& lengths) {
  constexpr std::string_view kinds =
      "one of file; documents: [512, 2048]; mean and p95 (lognormal); or shortest and longest "
      "(uniform)";
  const bool is_drawn = lengths.mean || lengths.p95 || lengths.shortest || lengths.longest;
  const int count =
      (lengths.file ? 1 : 0) + (lengths.documents.empty() ? 0 : 1) + (is_drawn ? 1 : 0);
  if (count != 1)
    throw Error(field.value.origin,
                fmt::format("{} {}", field.name,
                            count == 0 ? "gives no lengths of documents"
                                       : "gives lengths of documents more than once"))
        .allow(kinds);
  if (!is_drawn) return;
  const std::uint32_t shortest = lengths.shortest.value_or(1);
  if (lengths.longest && *lengths.longest < shortest)
    throw Error(field.value.origin, fmt::format("{}.longest is {}, below shortest ({})", field.name,
                                                *lengths.longest, shortest))
        .allow(fmt::format("at least {}", shortest));
  if (!lengths.mean && !lengths.p95) {
    if (!lengths.longest)
      throw Error(field.value.origin, fmt::format("{} has shortest but not longest", field.name))
          .allow(kinds);
    return;
  }
  if (!lengths.mean || !lengths.p95)
    throw Error(field.value.origin,
                fmt::format("{} has {} without {}", field.name, lengths.mean ? "mean" : "p95",
                            lengths.mean ? "p95" : "mean"))
        .allow(kinds);
  if (lengths.longest && *lengths.mean >= *lengths.longest)
    throw Error(field.value.origin, fmt::format("{}.mean is {}, but no length exceeds longest ({})",
                                                field.name, *lengths.mean, *lengths.longest))
        .suggest("lower the mean, or raise longest");
  // The limit is the largest ratio of 95th percentile to mean that a lognormal distribution can
  // have.
  const double largest = *lengths.mean * std::exp(quantile_95 * quantile_95 / 2);
  if (*lengths.p95 < *lengths.mean || *lengths.p95 > largest)
    throw Error(field.value.origin, fmt::format("{}.p95 is {}, with a mean of {}", field.name,
                                                *lengths.p95, *lengths.mean))
        .allow(
            fmt::format("{} to {:.0f}, 3.86 times the mean", *lengths.mean, std::floor(largest)));
}

// Checks lengths, and reads their file if they have one.
void settle_lengths(const Field& field, Lengths& lengths) {
  check_lengths(field, lengths);
  if (lengths.file) load_lengths(*lengths.file, lengths);
}

}  // namespace

// Solves mean = exp(m + s^2/2) and p95 = exp(m + 1.645 s) for s; the smaller solution has the
// lighter tail.
double lognormal_deviation(double mean, double p95) {
  const double log_ratio = std::log(p95 / mean);
  return quantile_95 - std::sqrt(std::max(0.0, quantile_95 * quantile_95 - 2 * log_ratio));
}

std::string to_string(const Lengths& lengths) {
  std::string text;
  if (lengths.file)
    text = "of " + lengths.file->filename().string();
  else if (!lengths.documents.empty())
    text = fmt::format("of {} lengths", lengths.documents.size());
  else if (lengths.mean)
    text = fmt::format("lognormal with mean {} and p95 {}", *lengths.mean, *lengths.p95);
  else
    text = fmt::format("from {} to {}", lengths.shortest.value_or(1), *lengths.longest);
  if (lengths.packed) text += " packed";
  if (lengths.packed && !lengths.cuts_documents())
    text += fmt::format(" by {}", base::name_of(packing_names, lengths.packing));
  if (!lengths.cuts_documents())
    text += fmt::format(" padded to {}", base::name_of(pad_names, lengths.pad_to));
  if (lengths.balance == Lengths::Balance::length) text += " balanced by length";
  if (lengths.balance == Lengths::Balance::context_parallel)
    text += fmt::format(" shared by ranks of at most {} tokens", *lengths.tokens_per_rank);
  return text;
}

Lengths read_lengths(const Field& field) {
  Lengths lengths = read_map<lengths_table>(field);
  settle_lengths(field, lengths);
  if (!lengths.packed && lengths.packing != Lengths::Packing::cut)
    throw wrong({*find(field.value, "packing"), field.name + ".packing"},
                "cut for documents that are not packed (packed: false)");
  const bool shares = lengths.balance == Lengths::Balance::context_parallel;
  if (shares && !lengths.tokens_per_rank)
    throw Error(
        field.value.origin,
        fmt::format("{}.balance is context_parallel, which needs tokens_per_rank", field.name))
        .suggest("give the most tokens of a document on a rank, such as tokens_per_rank: 8192");
  if (shares && !lengths.cuts_documents())
    throw wrong({*find(field.value, "balance"), field.name + ".balance"},
                "none or length for samples of whole documents");
  if (!shares && lengths.tokens_per_rank)
    throw wrong({*find(field.value, "tokens_per_rank"), field.name + ".tokens_per_rank"},
                "left out without balance: context_parallel");
  return lengths;
}

std::vector<KeyRow> lengths_keys() { return rows_of(lengths_table); }

Lengths read_unpacked_lengths(const Field& field) {
  Lengths lengths;
  read_keys<Lengths>(field, unpacked_table, lengths);
  settle_lengths(field, lengths);
  lengths.packed = false;
  return lengths;
}

std::vector<KeyRow> unpacked_lengths_keys() { return rows_of(unpacked_table); }

}  // namespace pipewright::config
