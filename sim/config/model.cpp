#include "sim/config/model.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/keys.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::config {
namespace {

constexpr Document model_document{"a model", "layers, hidden, heads, vocabulary and sequence",
                                  "layers: 32"};
constexpr std::array<std::string_view, 2> norm_names{"layernorm", "rmsnorm"};
constexpr std::array<std::string_view, 2> mlp_names{"gelu", "swiglu"};
constexpr std::array<std::string_view, 2> position_names{"rotary", "learned"};

// A whole number, 0 allowed.
std::uint32_t read_number(const Field& field, std::string_view example) {
  return field.value.kind == Value::Kind::text && field.value.text == "0"
             ? 0
             : read_count(field, example);
}

// "8.03B" or 8.03e9 parameters.
double read_parameters(const Field& field) {
  constexpr std::string_view allowed = "a number of parameters, such as 8.03B";
  const std::string& text = read_text(field, allowed);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const double scale = unit == "T" ? 1e12 : unit == "B" ? 1e9 : unit == "M" ? 1e6 : 1;
  if (code != std::errc{} || !(value > 0) || (scale == 1 && !unit.empty()))
    throw wrong(field, allowed);
  return value * scale;
}

double read_dropout(const Field& field) {
  if (field.value.text == "0") return 0;
  const double part = read_positive_number(field, "a part from 0 to 1, such as 0.1,");
  if (part >= 1) throw wrong(field, "a part from 0 to 1, such as 0.1");
  return part;
}

using Latent = Model::Latent;
using Experts = Model::Experts;

// What no model comes near to. Far above it numbers of bytes and FLOP, and the time to count them,
// mean nothing any more.
constexpr std::uint32_t most_layers = 10'000;
constexpr std::uint32_t most_wide = 1U << 20U;  // sizes of vectors, heads, experts
constexpr std::uint32_t most_ffn = 1U << 24U;
constexpr std::uint32_t most_tokens = 1U << 28U;  // of a sample, and of a vocabulary

std::uint32_t at_most(std::uint32_t most, std::uint32_t value, const Field& field) {
  if (value > most)
    throw wrong(field, fmt::format("a whole number of at most {}, far above any model's", most));
  return value;
}
template <std::uint32_t most>
std::uint32_t read_extent(const Field& field) {
  return at_most(most, read_count(field, "128"), field);
}
std::uint32_t read_extent_or_none(const Field& field) {
  return at_most(most_wide, read_number(field, "1"), field);
}

template <auto member, std::uint32_t most = most_wide>
constexpr auto extent = into<member, read_extent<most>>({ValueType::count});
template <auto member>
constexpr auto extent_or_none = into<member, read_extent_or_none>({ValueType::count});

constexpr std::array latent_table{
    Key<Latent>{{.name = "query_rank",
                 .help = "of compressed queries; 0: they are not",
                 .default_value = "0"},
                extent_or_none<&Latent::query_rank>},
    Key<Latent>{{.name = "kv_rank", .help = "of compressed keys and values", .required = true},
                extent<&Latent::kv_rank>},
    Key<Latent>{{.name = "nope_head_dim", .help = "of a head, without position", .required = true},
                extent<&Latent::nope_head_dim>},
    Key<Latent>{{.name = "rope_head_dim", .help = "of a head, with position", .required = true},
                extent<&Latent::rope_head_dim>},
    Key<Latent>{{.name = "value_head_dim", .help = "of a head's value", .required = true},
                extent<&Latent::value_head_dim>},
};

constexpr std::array experts_table{
    Key<Experts>{{.name = "count", .help = "experts of a layer", .required = true},
                 extent<&Experts::count>},
    Key<Experts>{{.name = "top_k", .help = "of them that a token visits", .default_value = "1"},
                 extent<&Experts::top_k>},
    Key<Experts>{{.name = "ffn", .help = "hidden size of one", .required = true},
                 extent<&Experts::ffn, most_ffn>},
    Key<Experts>{
        {.name = "shared", .help = "experts that every token visits", .default_value = "0"},
        extent_or_none<&Experts::shared>},
    Key<Experts>{
        {.name = "shared_ffn", .help = "hidden size of a shared one", .default_value = "ffn"},
        extent<&Experts::shared_ffn, most_ffn>},
    Key<Experts>{{.name = "groups",
                  .help = "that the experts form, for group-limited routing",
                  .default_value = "1"},
                 extent<&Experts::groups>},
    Key<Experts>{{.name = "top_groups",
                  .help = "of them that a token's experts are of",
                  .default_value = "groups"},
                 extent<&Experts::top_groups>},
    Key<Experts>{
        {.name = "capacity_factor",
         .help = "the busiest expert's tokens over the mean",
         .default_value = "1"},
        within<&Experts::capacity_factor, "a factor", "a factor of at least 1", 1, unlimited>},
    Key<Experts>{{.name = "first_dense",
                  .help = "layers at the start without experts",
                  .default_value = "0"},
                 extent_or_none<&Experts::first_dense>},
    Key<Experts>{
        {.name = "every", .help = "one layer in so many has experts", .default_value = "1"},
        extent<&Experts::every>},
};

constexpr std::array table{
    Key<Model>{{.name = "name", .help = "what it is called; else the file's name"},
               text<&Model::name, "a name">},
    Key<Model>{{.name = "source", .help = "where its numbers come from"},
               {[](const Field& f, Model&) { read_text(f, "where the numbers come from"); }}},
    Key<Model>{
        {.name = "parameters", .help = "as published, such as 8.03B, to check the other keys by"},
        into<&Model::published, read_parameters>({ValueType::number})},
    Key<Model>{{.name = "layers", .help = "of the transformer", .required = true},
               extent<&Model::layers, most_layers>},
    Key<Model>{{.name = "mtp_layers",
                .alias = "mtp_num_layers",
                .help = "modules of multi-token prediction, each with one layer more",
                .default_value = "0"},
               extent_or_none<&Model::mtp_layers>},
    Key<Model>{{.name = "hidden", .alias = "hidden_size", .help = "hidden size", .required = true},
               extent<&Model::hidden>},
    Key<Model>{{.name = "heads", .help = "of attention", .required = true}, extent<&Model::heads>},
    Key<Model>{{.name = "kv_heads", .help = "of keys and values", .default_value = "heads"},
               extent<&Model::kv_heads>},
    Key<Model>{{.name = "head_dim", .help = "size of a head", .default_value = "hidden / heads"},
               extent<&Model::head_dim>},
    Key<Model>{{.name = "ffn",
                .help = "hidden size of the MLP",
                .default_value = "4 hidden; of swiglu it has none"},
               extent<&Model::ffn, most_ffn>},
    Key<Model>{{.name = "mlp", .help = "of two matrices or of three", .default_value = "gelu"},
               choice<&Model::gated, mlp_names>},
    Key<Model>{{.name = "norm", .help = "of the layers", .default_value = "layernorm"},
               choice<&Model::norm, norm_names>},
    Key<Model>{{.name = "biases", .help = "whether matrices have them", .default_value = "true"},
               flag<&Model::biases>},
    Key<Model>{
        {.name = "dropout", .help = "its probability; the masks are kept", .default_value = "0"},
        into<&Model::dropout, read_dropout>({ValueType::number})},
    Key<Model>{{.name = "vocabulary", .alias = "vocab", .help = "tokens", .required = true},
               extent<&Model::vocabulary, most_tokens>},
    Key<Model>{{.name = "tied_embeddings",
                .help = "one matrix for input and output",
                .default_value = "false"},
               flag<&Model::tied_embeddings>},
    Key<Model>{{.name = "positions", .help = "how tokens know theirs", .default_value = "rotary"},
               choice<&Model::learned_positions, position_names>},
    Key<Model>{{.name = "sequence", .help = "tokens of a sample", .required = true},
               extent<&Model::sequence, most_tokens>},
    Key<Model>{{.name = "sliding_window",
                .help = "keys that a query sees, its own and those before; else all",
                .unit = "tokens"},
               extent<&Model::sliding_window, most_tokens>},
    Key<Model>{{.name = "full_attention_every",
                .help = "one layer in so many has no sliding window; else each has one",
                .unit = "layers"},
               count<&Model::full_attention_every, "2">},
    Key<Model>{{.name = "latent", .help = "multi-head latent attention, a map"},
               map_of<&Model::latent, latent_table>},
    Key<Model>{{.name = "experts", .help = "of a mixture, a map"},
               map_of<&Model::experts, experts_table>},
};

// The nearest divisors of `whole` below and above `wanted`.
std::string nearest_divisors(std::uint32_t whole, std::uint32_t wanted) {
  std::uint32_t below = wanted < whole ? wanted : whole;
  while (whole % below != 0) --below;
  std::uint32_t above = wanted;
  while (above < whole && whole % above != 0) ++above;
  return above >= whole || above == below ? fmt::format("{}", below)
                                          : fmt::format("{} or {}", below, above);
}

// Whether all of a map was written in that file.
bool all_from(const Value& map, const std::string& source) {
  return std::ranges::all_of(map.entries, [&](const Entry& entry) {
    const Value& value = entry.value;
    return value.kind == Value::Kind::map ? all_from(value, source) : value.origin.source == source;
  });
}

// What the other keys say of one that was left out, and what cannot be together.
void complete(Model& model, const Field& field) {
  const auto refuse = [&](std::string_view key, std::string_view text) {
    const Value* const value = find(field.value, key);
    return Error(locate(value != nullptr ? value->origin : field.value.origin, text));
  };
  if (model.full_attention_every > 0 && model.sliding_window == 0)
    throw refuse("full_attention_every",
                 "full_attention_every needs sliding_window, the keys that other layers see");
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.heads % model.kv_heads != 0)
    throw refuse(
        "kv_heads",
        fmt::format("kv_heads is {}, which does not divide the {} heads; allowed: {}",
                    model.kv_heads, model.heads, nearest_divisors(model.heads, model.kv_heads)));
  if (model.head_dim == 0 && !model.latent && model.hidden % model.heads != 0)
    throw refuse("heads", fmt::format("heads is {}, which does not divide hidden ({}); allowed: "
                                      "{} heads, or a head_dim",
                                      model.heads, model.hidden,
                                      nearest_divisors(model.hidden, model.heads)));
  if (model.head_dim == 0) model.head_dim = model.hidden / model.heads;
  if (model.ffn == 0 && model.gated &&
      (!model.experts || model.experts->first_dense != 0 || model.experts->every != 1))
    throw refuse("mlp", "ffn is missing: a swiglu MLP has no usual hidden size (the key ffn)");
  if (model.ffn == 0) model.ffn = 4 * model.hidden;
  if (!model.experts) return;
  Experts& experts = *model.experts;
  if (experts.top_k > experts.count)
    throw refuse("experts", fmt::format("experts.top_k is {} of {} experts; allowed: 1 to {}",
                                        experts.top_k, experts.count, experts.count));
  if (experts.count % experts.groups != 0)
    throw refuse("experts", fmt::format("experts.groups is {}, which does not divide the {} "
                                        "experts; allowed: {}",
                                        experts.groups, experts.count,
                                        nearest_divisors(experts.count, experts.groups)));
  if (experts.top_groups == 0) experts.top_groups = experts.groups;
  const std::uint32_t fewest = (experts.top_k * experts.groups + experts.count - 1) / experts.count;
  if (experts.top_groups > experts.groups || experts.top_groups < fewest)
    throw refuse("experts",
                 fmt::format("experts.top_groups is {}, and a token's {} experts are of {} groups "
                             "of {} each; allowed: {} to {}",
                             experts.top_groups, experts.top_k, experts.groups,
                             experts.count / experts.groups, fewest, experts.groups));
  if (experts.capacity_factor > experts.count)
    throw refuse("experts",
                 fmt::format("experts.capacity_factor is {:.4g}, and one expert of {} can have at "
                             "most {} times the mean; allowed: 1 to {}",
                             experts.capacity_factor, experts.count, experts.count, experts.count));
  if (experts.first_dense > model.layers)
    throw refuse("experts", fmt::format("experts.first_dense is {} of {} layers; allowed: 0 to {}",
                                        experts.first_dense, model.layers, model.layers));
  if (experts.shared_ffn == 0) experts.shared_ffn = experts.ffn;
}

}  // namespace

Model read_model(const Field& field) {
  const Value map = library_map(field, "models", model_document);
  const Field whole{map, field.name};
  Model model;
  model.origin = field.value.origin;
  read_keys<Model>(whole, table, model);
  complete(model, whole);
  // A published count is of the shape that its file gives, not of one with another number of
  // layers that an option asks for.
  if (!all_from(map, model.published.origin.source)) model.published = {};
  if (model.name.empty() && field.value.kind == Value::Kind::text) {
    // A name of the library may have a point in it.
    const std::filesystem::path path(field.value.text);
    model.name = (path.extension() == ".yaml" ? path.stem() : path.filename()).string();
  }
  return model;
}

std::vector<KeyRow> model_keys() { return rows_of(table); }

}  // namespace pipewright::config
