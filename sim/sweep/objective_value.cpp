#include "sim/sweep/objective_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/keys.hpp"

namespace pipewright::search {
namespace {

using analysis::Objective;
using config::Field;
using config::Key;
using config::Value;

struct Amount {
  double value = 0;
  std::string_view unit;  // the text after the number and its scale
};

std::string_view without_leading_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

// Reads a positive number with a scale and a unit: "2T tokens", "300 B", "1.2M tokens/s".
std::optional<Amount> read_amount(std::string_view text) {
  struct Scale {
    char letter;
    double factor;
  };
  constexpr std::array scales{Scale{'k', 1e3}, Scale{'M', 1e6}, Scale{'B', 1e9}, Scale{'T', 1e12}};
  Amount result;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, result.value);
  if (code != std::errc{} || !std::isfinite(result.value) || result.value <= 0) return std::nullopt;
  std::string_view unit = without_leading_spaces({rest, end});
  const auto ends = [](std::string_view word) { return word.size() == 1 || word[1] == ' '; };
  for (const Scale& scale : scales)
    if (!unit.empty() && unit.front() == scale.letter && ends(unit)) {
      result.value *= scale.factor;
      unit = without_leading_spaces(unit.substr(1));
      break;
    }
  result.unit = unit;
  return result;
}

void read_floor(const Field& field, Objective& objective) {
  constexpr std::string_view allowed = "a throughput, such as 1.2M tokens/s or 200 samples/s";
  const auto parsed = read_amount(read_text(field, allowed));
  if (!parsed) throw wrong(field, allowed);
  constexpr std::array<std::string_view, 3> tokens{"", "tokens", "tokens/s"};
  objective.floor_in_samples = parsed->unit == "samples" || parsed->unit == "samples/s";
  if (!objective.floor_in_samples && std::ranges::find(tokens, parsed->unit) == tokens.end())
    throw wrong(field, allowed);
  objective.kind = Objective::Kind::memory;
  objective.floor = parsed->value;
}

void read_seeds(const Field& field, Objective& objective) {
  constexpr std::string_view allowed = "a number of seeds, such as 20 or 20 seeds";
  constexpr double max_seeds = 10'000;
  const auto parsed = read_amount(read_text(field, allowed));
  if (!parsed || (!parsed->unit.empty() && parsed->unit != "seeds") || parsed->value > max_seeds ||
      parsed->value != std::floor(parsed->value))
    throw wrong(field, allowed);
  objective.kind = Objective::Kind::tokens_a_day;
  objective.seeds = static_cast<std::uint32_t>(parsed->value);
}

constexpr std::array objective_table{
    Key<Objective>{{.name = "time_to_train", .help = "time to train on this number of tokens"},
                   [](const Field& f, Objective& o) {
                     o.kind = Objective::Kind::time_to_train;
                     o.tokens = read_tokens(f);
                   }},
    Key<Objective>{{.name = "price", .help = "price of a GPU-hour; needs tokens"}, read_price},
    Key<Objective>{{.name = "tokens", .help = "number of tokens that the price is for"},
                   [](const Field& f, Objective& o) { o.tokens = read_tokens(f); }},
    Key<Objective>{
        {.name = "memory",
         .help =
             "least memory of the fullest device among candidates with at least this throughput"},
        read_floor},
    Key<Objective>{{.name = "tokens_a_day",
                    .help = "tokens per day of a goodput run, mean over this number of seeds"},
                   read_seeds},
};

}  // namespace

double read_tokens(const Field& field) {
  constexpr std::string_view allowed = "a number of tokens, such as 2T, 300B tokens or 3e11";
  const auto parsed = read_amount(read_text(field, allowed));
  if (!parsed || (!parsed->unit.empty() && parsed->unit != "tokens")) throw wrong(field, allowed);
  return parsed->value;
}

void read_price(const Field& field, Objective& objective) {
  constexpr std::string_view allowed = "the price of a GPU-hour, such as 2.5, $2.5 or 2.5 EUR";
  std::string_view text = read_text(field, allowed);
  const std::size_t digits = std::min(text.find_first_of("0123456789."), text.size());
  const std::string_view before = text.substr(0, digits);
  const auto parsed = read_amount(text.substr(digits));
  // A currency has no digits, so "2,5" is not 2 of the currency ",5".
  if (!parsed || text.starts_with('-') || (!before.empty() && !parsed->unit.empty()) ||
      parsed->unit.find_first_of(",.0123456789") != std::string_view::npos)
    throw wrong(field, allowed);
  objective.kind = Objective::Kind::price;
  objective.price_per_gpu_hour = parsed->value;
  if (!before.empty()) objective.currency = before.substr(0, before.find(' '));
  if (!parsed->unit.empty()) objective.currency = parsed->unit;
}

Objective read_objective(const Field& field) {
  constexpr std::string_view allowed =
      "throughput, mfu, memory, tokens_a_day, {time_to_train: 2T tokens}, {price: 2.5, tokens: "
      "300B}, {memory: 1.2M tokens/s} or {tokens_a_day: 20 seeds}";
  constexpr std::array<std::string_view, 4> names{"throughput", "mfu", "memory", "tokens_a_day"};
  constexpr std::array kinds{Objective::Kind::throughput, Objective::Kind::mfu,
                             Objective::Kind::memory, Objective::Kind::tokens_a_day};
  Objective objective;
  if (field.value.kind == Value::Kind::list) throw wrong(field, allowed);
  if (field.value.kind == Value::Kind::text) {
    const auto name = std::ranges::find(names, field.value.text);
    if (name == names.end())
      throw wrong(field, allowed).suggest_name(config::nearest_name(field.value.text, names));
    objective.kind = kinds.at(static_cast<std::size_t>(name - names.begin()));
    return objective;
  }
  config::read_keys<Objective>(field, objective_table, objective);
  // The map must have a single key, except that a price also needs the key `tokens`.
  const bool is_price = find(field.value, "price") != nullptr;
  if (field.value.entries.size() != (is_price ? 2U : 1U) ||
      is_price != (find(field.value, "tokens") != nullptr))
    throw wrong(field, allowed);
  return objective;
}

}  // namespace pipewright::search
