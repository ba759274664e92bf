#include "sim/config/training.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/units.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 3> recompute_names{"none", "selective", "full"};
constexpr std::array<std::string_view, 3> rule_names{"even", "ends_less", "by_cost"};

// Bytes of a parameter; 0 is one, as of an optimizer without state.
double read_bytes(const Field& field) {
  if (field.value.text == "0") return 0;
  constexpr double most = 1000;
  const double bytes = read_positive_number(field, "bytes of a parameter");
  if (bytes > most) throw wrong(field, "bytes of a parameter, from 0 to 1000, such as 4");
  return bytes;
}

std::uint32_t read_sequence(const Field& field) {
  constexpr std::uint32_t most = 1U << 28U;
  const std::uint32_t tokens = read_count(field, "8192");
  if (tokens > most) throw wrong(field, fmt::format("a whole number from 1 to {}", most));
  return tokens;
}

// Bytes of a number on its way: nothing is wider than fp64.
double read_width(const Field& field) {
  const double bytes = read_positive_number(field, "the width of a number in bytes");
  if (bytes > 8) throw wrong(field, "more than 0 and at most 8 bytes, such as 2");
  return bytes;
}

constexpr std::array bytes_table{
    Key<ParameterBytes>{{.name = "weights", .help = "of each weight (2)"},
                        [](const Field& f, auto& b) { b.weights = read_bytes(f); }},
    Key<ParameterBytes>{{.name = "gradients", .help = "of each gradient where it is summed (4)"},
                        [](const Field& f, auto& b) { b.gradients = read_bytes(f); }},
    Key<ParameterBytes>{{.name = "optimizer", .help = "of each parameter's optimizer state (12)"},
                        [](const Field& f, auto& b) { b.optimizer = read_bytes(f); }},
    Key<ParameterBytes>{{.name = "gathered", .help = "of each weight that ZeRO gathers (2)"},
                        [](const Field& f, auto& b) { b.gathered = read_width(f); }},
};

template <bool Training::*Switch>
void flag(const Field& field, Training& training) {
  training.*Switch = read_flag(field);
}

constexpr std::array table{
    Key<Training>{{.name = "microbatch_size",
                   .alias = "micro_batch_size",
                   .help = "samples of a microbatch (1)"},
                  [](const Field& f, Training& t) { t.microbatch_size = read_count(f, "1"); }},
    Key<Training>{{.name = "sequence", .help = "tokens of a sample; else the model's"},
                  [](const Field& f, Training& t) { t.sequence = read_sequence(f); }},
    Key<Training>{{.name = "recompute", .help = "none, selective or full (none)"},
                  [](const Field& f, Training& t) {
                    t.recompute = static_cast<Recompute>(read_choice(f, recompute_names));
                  }},
    Key<Training>{{.name = "causal", .help = "flash attention skips what is masked (true)"},
                  flag<&Training::causal>},
    Key<Training>{{.name = "flash_attention", .help = "scores are never kept (true)"},
                  flag<&Training::flash_attention>},
    Key<Training>{{.name = "fused_loss", .help = "no fp32 copy of the logits (true)"},
                  flag<&Training::fused_loss>},
    Key<Training>{{.name = "fused_accumulation",
                   .help = "W adds to the gradients within its products (true)"},
                  flag<&Training::fused_accumulation>},
    Key<Training>{{.name = "deallocate_outputs", .help = "free a stage's output once sent (true)"},
                  flag<&Training::deallocate_outputs>},
    Key<Training>{
        {.name = "vocabulary_multiple",
         .help = "the vocabulary is padded to so many times tp (128)"},
        [](const Field& f, Training& t) { t.vocabulary_multiple = read_count(f, "128"); }},
    Key<Training>{
        {.name = "bytes", .help = "of a parameter: weights, gradients, optimizer, gathered"},
        [](const Field& f, Training& t) { read_keys<ParameterBytes>(f, bytes_table, t.bytes); }},
    Key<Training>{{.name = "fragmentation", .help = "allowance, a part of the activations (0)"},
                  [](const Field& f, Training& t) {
                    t.fragmentation = read_part(f, "a part of the activations");
                  }},
    Key<Training>{
        {.name = "reserved", .help = "bytes lost to driver, context and NCCL (0)"},
        [](const Field& f, Training& t) { t.reserved = read_size(f, "a size of memory"); }},
};

}  // namespace

Partition read_partition(const Field& field) {
  Partition partition;
  partition.origin = field.value.origin;
  if (field.value.kind == Value::Kind::text) {
    partition.rule = static_cast<Partition::Rule>(read_choice(field, rule_names));
    return partition;
  }
  constexpr std::string_view allowed =
      "even, ends_less, by_cost, or a list of layers per stage, such as [7, 8, 8, 7]";
  if (field.value.kind == Value::Kind::map) throw wrong(field, allowed);
  partition.rule = Partition::Rule::listed;
  for (const Field& item : items(field, allowed))
    partition.layers.push_back(item.value.text == "0" ? 0 : read_count(item, "8"));
  return partition;
}

Training read_training(const Field& field) {
  Training training;
  read_keys<Training>(field, table, training);
  return training;
}

std::vector<KeyInfo> training_keys() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> dotted;
    for (const auto& key : bytes_table) dotted.push_back(fmt::format("bytes.{}", key.info.name));
    return dotted;
  }();
  std::vector<KeyInfo> keys = key_infos(table);
  std::vector<KeyInfo> inner = key_infos(bytes_table);
  for (std::size_t i = 0; i < inner.size(); ++i) inner[i].name = names[i];
  keys.insert(std::ranges::find(keys, "bytes", &KeyInfo::name) + 1, inner.begin(), inner.end());
  return keys;
}

}  // namespace pipewright::config
