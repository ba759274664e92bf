#include "sim/config/model.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

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

std::string read_pattern(const Field& field) {
  constexpr std::string_view allowed =
      "a symbol a layer of M, G, *, S, +, - and E, such as MEME*E (in quotes where it starts with "
      "* or -)";
  const std::string& text = read_text(field, allowed);
  if (text.empty() || text.find_first_not_of(layer_symbols::all) != std::string::npos)
    throw wrong(field, allowed);
  return text;
}

double read_dropout(const Field& field) {
  if (field.value.text == "0") return 0;
  const double part = read_positive_number(field, "a part from 0 to 1, such as 0.1,");
  if (part >= 1) throw wrong(field, "a part from 0 to 1, such as 0.1");
  return part;
}

using Latent = Model::Latent;
using Experts = Model::Experts;
using Mamba = Model::Mamba;
using LinearAttention = Model::LinearAttention;

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

constexpr std::array mamba_table{
    Key<Mamba>{{.name = "heads", .help = "of the state space", .required = true},
               extent<&Mamba::heads>},
    Key<Mamba>{{.name = "head_dim", .help = "size of a head", .default_value = "64"},
               extent<&Mamba::head_dim>},
    Key<Mamba>{{.name = "groups", .help = "of heads that share B and C", .default_value = "8"},
               extent<&Mamba::groups>},
    Key<Mamba>{{.name = "state", .help = "size of a head's state", .default_value = "128"},
               extent<&Mamba::state>},
    Key<Mamba>{{.name = "conv", .help = "tokens that the convolution sees", .default_value = "4"},
               extent<&Mamba::conv>},
};

constexpr std::array linear_table{
    Key<LinearAttention>{{.name = "key_heads", .help = "of queries, and of keys", .required = true},
                         extent<&LinearAttention::key_heads>},
    Key<LinearAttention>{{.name = "value_heads", .help = "of values", .required = true},
                         extent<&LinearAttention::value_heads>},
    Key<LinearAttention>{{.name = "key_head_dim", .help = "size of a key", .default_value = "128"},
                         extent<&LinearAttention::key_head_dim>},
    Key<LinearAttention>{
        {.name = "value_head_dim", .help = "size of a value", .default_value = "128"},
        extent<&LinearAttention::value_head_dim>},
    Key<LinearAttention>{
        {.name = "conv", .help = "tokens that the convolution sees", .default_value = "4"},
        extent<&LinearAttention::conv>},
};

constexpr std::array table{
    Key<Model>{{.name = "name", .help = "what it is called; else the file's name"},
               text<&Model::name, "a name">},
    Key<Model>{{.name = "source", .help = "where its numbers come from"},
               {[](const Field& f, Model&) { read_text(f, "where the numbers come from"); }}},
    Key<Model>{
        {.name = "parameters", .help = "as published, such as 8.03B, to check the other keys by"},
        into<&Model::published, read_parameters>({ValueType::number})},
    Key<Model>{
        {.name = "layers", .help = "of the transformer", .default_value = "as many as pattern has"},
        extent<&Model::layers, most_layers>},
    Key<Model>{{.name = "pattern",
                .alias = "hybrid_layer_pattern",
                .help = "of a hybrid, a symbol a layer: M Mamba-2, G gated delta net, * attention, "
                        "S attention with the sliding window, + latent attention, - MLP, "
                        "E experts"},
               into<&Model::pattern, read_pattern>({ValueType::text})},
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
    Key<Model>{{.name = "qk_layernorm",
                .help = "norms of each head's queries and keys",
                .default_value = "false"},
               flag<&Model::qk_layernorm>},
    Key<Model>{{.name = "output_gate",
                .alias = "attention_output_gate",
                .help = "whether attention's result is gated by a part of the first product",
                .default_value = "false"},
               flag<&Model::output_gate>},
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
    Key<Model>{{.name = "mamba", .help = "of Mamba-2 layers, a map"},
               map_of<&Model::mamba, mamba_table>},
    Key<Model>{{.name = "linear_attention", .help = "of gated delta nets, a map"},
               map_of<&Model::linear_attention, linear_table>},
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

// An error at a key of the map, or at the map where it is left out.
Error refusal(const Field& map, std::string_view key, std::string_view text) {
  const Value* const value = find(map.value, key);
  return Error(locate(value != nullptr ? value->origin : map.value.origin, text));
}

// How many layers there are, and whether each symbol of a pattern has the sizes of its layer.
void complete_pattern(Model& model, const Field& field) {
  if (model.pattern.empty()) {
    if (model.layers == 0)
      throw Error(locate(field.value.origin,
                         "layers is missing: how many the model has, or a pattern of them"));
    for (const auto& [key, is_there] : {std::pair{"mamba", model.mamba.has_value()},
                                        {"linear_attention", model.linear_attention.has_value()}})
      if (is_there)
        throw refusal(field, key,
                      fmt::format("{} needs pattern, which says what layers are of it", key));
    return;
  }
  if (model.pattern.size() > most_layers)
    throw refusal(field, "pattern", fmt::format("pattern has more than {} layers", most_layers));
  const auto length = static_cast<std::uint32_t>(model.pattern.size());
  if (model.layers != 0 && model.layers != length)
    throw refusal(field, "layers",
                  fmt::format("layers is {}, and pattern has {} symbols, one a layer; leave layers "
                              "out",
                              model.layers, length));
  model.layers = length;
  const auto needs = [&](char symbol, std::string_view key, bool is_there) {
    if (model.pattern.find(symbol) != std::string::npos && !is_there)
      throw refusal(field, "pattern",
                    fmt::format("pattern has layers {}, which need the key {}", symbol, key));
  };
  namespace symbols = layer_symbols;
  needs(symbols::mamba, "mamba", model.mamba.has_value());
  needs(symbols::linear_attention, "linear_attention", model.linear_attention.has_value());
  needs(symbols::sliding, "sliding_window", model.sliding_window > 0);
  needs(symbols::latent, "latent", model.latent.has_value());
  needs(symbols::experts, "experts", model.experts.has_value());
  if (model.full_attention_every > 0)
    throw refusal(field, "full_attention_every",
                  "full_attention_every beside pattern, whose * and S say what layers have a "
                  "sliding window; leave one out");
  if (model.experts && (model.experts->first_dense != 0 || model.experts->every != 1))
    throw refusal(field, "experts",
                  "experts.first_dense and experts.every beside pattern, whose E says what layers "
                  "have experts; leave them out");
  const auto share = [&](std::string_view key, std::uint32_t heads, std::uint32_t parts) {
    if (heads % parts != 0)
      throw refusal(field, key,
                    fmt::format("{} has {} heads that share {}, which does not divide them; "
                                "allowed: {}",
                                key, heads, parts, nearest_divisors(heads, parts)));
  };
  if (model.mamba) share("mamba", model.mamba->heads, model.mamba->groups);
  if (model.linear_attention)
    share("linear_attention", model.linear_attention->value_heads,
          model.linear_attention->key_heads);
}

// What the other keys say of one that was left out, and what cannot be together.
void complete(Model& model, const Field& field) {
  const auto refuse = [&](std::string_view key, std::string_view text) {
    return refusal(field, key, text);
  };
  complete_pattern(model, field);
  if (model.full_attention_every > 0 && model.sliding_window == 0)
    throw refuse("full_attention_every",
                 "full_attention_every needs sliding_window, the keys that other layers see");
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.heads % model.kv_heads != 0)
    throw refuse(
        "kv_heads",
        fmt::format("kv_heads is {}, which does not divide the {} heads; allowed: {}",
                    model.kv_heads, model.heads, nearest_divisors(model.heads, model.kv_heads)));
  if (model.qk_layernorm && model.latent)
    throw refuse("latent",
                 "qk_layernorm is true, and latent attention has norms of its compressed vectors "
                 "instead; allowed: false");
  if (model.head_dim == 0 && !model.latent && model.hidden % model.heads != 0)
    throw refuse("heads", fmt::format("heads is {}, which does not divide hidden ({}); allowed: "
                                      "{} heads, or a head_dim",
                                      model.heads, model.hidden,
                                      nearest_divisors(model.hidden, model.heads)));
  if (model.head_dim == 0) model.head_dim = model.hidden / model.heads;
  const bool has_mlps =
      model.pattern.empty()
          ? !model.experts || model.experts->first_dense != 0 || model.experts->every != 1
          : model.pattern.find(layer_symbols::mlp) != std::string::npos;
  if (model.ffn == 0 && model.gated && has_mlps)
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
