#include "sim/config/partition.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "sim/config/keys.hpp"

namespace pipewright::config {
namespace {

constexpr std::string_view layout_example = "Et*3|(t*4|)*14tL";

// Maximum length of a layout with its repetitions written out, one letter per layer or end of a
// stage.
constexpr std::size_t max_letters = 100'000;

// Parses a layout and writes out its repetitions: Et*3|tL becomes Ettt|tL.
class LayoutParser {
 public:
  explicit LayoutParser(const Field& field) : field_(field), text_(field.value.text) {}

  std::string expand() {
    std::string letters = group();
    if (at_ < text_.size()) throw refuse(at_, ", which no ( opens").allow("( before it");
    return letters;
  }

 private:
  // Parses a layout up to its end or to a closing parenthesis, and returns its letters with
  // repetitions written out: "tt|tt|" for "(t*2|)*2".
  std::string group() {
    std::string letters;
    while (at_ < text_.size() && text_[at_] != ')') {
      const std::size_t place = at_;
      std::string unit;
      if (text_[at_] == '(') {
        ++at_;
        unit = group();
        if (at_ == text_.size()) throw refuse(place, ", which no ) closes").allow("a )");
      } else if (is_skipped(text_[at_])) {
        ++at_;
        continue;
      } else if (std::string_view("EtmL|").find(text_[at_]) == std::string_view::npos) {
        throw refuse(at_, "").allow("E, t, m, L, |, a group in parentheses, and *n after those");
      } else {
        unit = text_[at_];
      }
      ++at_;
      const std::size_t times = repetitions(place);
      if (letters.size() + unit.size() * times > max_letters)
        throw refuse(place, fmt::format(", which makes more than {} layers", max_letters))
            .allow("fewer");
      for (std::size_t i = 0; i < times; ++i) letters += unit;
    }
    return letters;
  }

  static bool is_skipped(char letter) { return letter == ',' || letter == ' '; }

  // Parses the n of a repetition *n that follows a letter or group; 1 if there is none.
  std::size_t repetitions(std::size_t place) {
    while (at_ < text_.size() && is_skipped(text_[at_])) ++at_;
    if (at_ == text_.size() || text_[at_] != '*') return 1;
    const char* const begin = text_.data() + at_ + 1;
    std::size_t times = 0;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), times);
    if (code != std::errc{} || times == 0 || times > max_letters)
      throw refuse(at_, fmt::format(", after character {}", place + 1))
          .allow(fmt::format("* and a whole number from 1 to {}", max_letters));
    at_ += 1 + static_cast<std::size_t>(end - begin);
    return times;
  }

  Error refuse(std::size_t place, std::string_view reason) const {
    return Error(field_.value.origin, fmt::format("{} has '{}' at character {}{}", field_.name,
                                                  text_[place], place + 1, reason));
  }

  const Field& field_;
  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_layout(std::string_view text) {
  return text.starts_with('E') || text.find('|') != std::string_view::npos;
}

// Checks the order of layers by the rules of Megatron-LM.
void check_layer_order(const Field& field, const std::string& letters) {
  const auto require = [&](bool holds, std::string_view fault, std::string_view allowed) {
    if (!holds)
      throw Error(field.value.origin,
                  fmt::format("{} is {}, {}", field.name, field.value.text, fault))
          .allow(fmt::format("{}, such as {}", allowed, layout_example));
  };
  const auto count = [&](char letter) { return std::ranges::count(letters, letter); };
  require(count('E') == 1 && letters.front() == 'E',
          "whose first stage does not start with its only embedding", "one E, at the start");
  require(count('L') == 1 && letters.back() == 'L',
          "whose last stage does not end with its only loss", "one L, at the end");
  const std::size_t first = letters.find('m');
  if (first == std::string::npos) return;
  require(letters.find('t', first) == std::string::npos, "with t after m",
          "multi-token prediction after all other layers");
  const std::size_t last = letters.rfind('m');
  require(letters.substr(first, last - first).find('|') == std::string::npos,
          "with m in several stages", "all of multi-token prediction in one stage");
}

void read_layout(const Field& field, Partition& partition) {
  partition.rule = Partition::Rule::layout;
  partition.text = field.value.text;
  const std::string letters = LayoutParser(field).expand();
  check_layer_order(field, letters);
  partition.layers.push_back(0);
  partition.mtp.push_back(0);
  for (const char letter : letters) {
    if (letter == 't') ++partition.layers.back();
    if (letter == 'm') ++partition.mtp.back();
    if (letter != '|') continue;
    partition.layers.push_back(0);
    partition.mtp.push_back(0);
  }
}

// The map form of a partition, whose keys shorten the options of Megatron-LM.
struct PartitionEnds {
  std::optional<Located<std::uint32_t>> first;
  std::optional<Located<std::uint32_t>> last;
  bool embedding = false;
  bool loss = false;
};
constexpr std::array ends_table{
    Key<PartitionEnds>{
        {.name = "first",
         .help =
             "number of layers of the first device (decoder_first_pipeline_num_layers); devices in "
             "between share the rest equally"},
        count<&PartitionEnds::first, "3">},
    Key<PartitionEnds>{
        {.name = "last",
         .help = "number of layers of the last device (decoder_last_pipeline_num_layers)"},
        count<&PartitionEnds::last, "2">},
    Key<PartitionEnds>{{.name = "account_for_embedding",
                        .help = "count the embedding as a layer of the first stage",
                        .default_value = "false"},
                       flag<&PartitionEnds::embedding>},
    Key<PartitionEnds>{
        {.name = "account_for_loss",
         .help = "count the loss as a layer of the last stage; both together: ends_less",
         .default_value = "false"},
        flag<&PartitionEnds::loss>},
};

void read_ends(const Field& field, Partition& partition) {
  const PartitionEnds ends = read_map<ends_table>(field);
  const bool has_sizes = ends.first || ends.last;
  const bool has_flags = ends.embedding || ends.loss;
  // Partitions that give sizes and also count embedding or loss are rejected, as in Megatron-LM.
  if (has_sizes && has_flags)
    throw Error(field.value.origin, fmt::format("{} gives the sizes of the first and last stages "
                                                "and also counts embedding or loss as layers",
                                                field.name))
        .allow("first and last, or account_for_embedding and account_for_loss");
  if (!has_sizes && !has_flags) return;
  partition.rule = has_sizes ? Partition::Rule::ends : Partition::Rule::ends_less;
  partition.embedding_counts = ends.embedding;
  partition.loss_counts = ends.loss;
  if (ends.first) partition.first = ends.first->value;
  if (ends.last) partition.last = ends.last->value;
}

}  // namespace

Partition read_partition(const Field& field) {
  Partition partition;
  partition.origin = field.value.origin;
  if (field.value.kind == Value::Kind::text) {
    if (is_layout(field.value.text))
      read_layout(field, partition);
    else
      partition.rule = static_cast<Partition::Rule>(read_choice(field, partition_rules));
    return partition;
  }
  if (field.value.kind == Value::Kind::map) {
    read_ends(field, partition);
    return partition;
  }
  constexpr std::string_view allowed =
      "even, ends_less, by_cost, by_weights, a list of layers per stage, such as [7, 8, 8, 7], "
      "{first: 3, "
      "last: 2}, or a layout, such as Et*3|(t*4|)*14tL";
  partition.rule = Partition::Rule::listed;
  for (const Field& item : items(field, allowed))
    partition.layers.push_back(item.value.text == "0" ? 0 : read_count(item, "8"));
  return partition;
}

std::vector<KeyRow> partition_keys() { return rows_of(ends_table); }

std::string to_string(const Partition& partition) {
  if (partition.rule == Partition::Rule::ends)
    return (partition.first ? fmt::format("first {}", *partition.first) : "") +
           (partition.first && partition.last ? " " : "") +
           (partition.last ? fmt::format("last {}", *partition.last) : "");
  if (partition.rule == Partition::Rule::ends_less && !partition.loss_counts)
    return "account_for_embedding";
  if (partition.rule == Partition::Rule::ends_less && !partition.embedding_counts)
    return "account_for_loss";
  if (partition.rule == Partition::Rule::layout) return partition.text;
  if (partition.rule == Partition::Rule::listed) return "listed";
  return std::string(partition_rules.at(static_cast<std::size_t>(partition.rule)));
}

}  // namespace pipewright::config
