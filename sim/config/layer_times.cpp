#include "sim/config/layer_times.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/keys.hpp"

namespace pipewright::config {
namespace {

constexpr std::string_view pass_time = "a pass time";

// One time, as a list of one.
std::vector<double> read_one(const Field& field) { return {read_time(field, pass_time)}; }

template <auto member>
constexpr auto one = into<member, read_one>({ValueType::time});

constexpr std::array part_table{
    Key<PartTimes>{{.name = "forward", .help = "time of its F"}, one<&PartTimes::forward>},
    Key<PartTimes>{{.name = "backward", .help = "of its B"}, one<&PartTimes::backward>},
    Key<PartTimes>{{.name = "input_grad", .help = "of its I"}, one<&PartTimes::input_grad>},
    Key<PartTimes>{{.name = "weight_grad", .help = "of its W"}, one<&PartTimes::weight_grad>},
};

void check_backward(const Field& field, const PartTimes& times) {
  if (times.backward.empty() || (times.input_grad.empty() && times.weight_grad.empty())) return;
  throw Error(fmt::format("{}.backward stands beside {}; B is I and W, give either that or these",
                          subject(field), times.input_grad.empty() ? "weight_grad" : "input_grad"));
}

PartTimes read_part_times(const Field& field) {
  PartTimes times = read_map<part_table>(field);
  check_backward(field, times);
  return times;
}

std::vector<KeyRow> part_keys() { return rows_of(part_table); }

template <auto member>
constexpr auto part_times = section<member, read_part_times, part_keys>;

// Of all layers.
template <std::vector<double> PartTimes::*member>
constexpr Reader<LayerTimes> each{[](const Field& field, LayerTimes& times) {
                                    times.layers.*member = read_times(field, pass_time);
                                  },
                                  {ValueType::time, true}};

constexpr std::array table{
    Key<LayerTimes>{{.name = "forward", .help = "time of a layer's F: one, or one per layer"},
                    each<&PartTimes::forward>},
    Key<LayerTimes>{{.name = "backward", .help = "of its B, likewise; I and W as the model shares"},
                    each<&PartTimes::backward>},
    Key<LayerTimes>{{.name = "input_grad", .help = "or of its I, likewise"},
                    each<&PartTimes::input_grad>},
    Key<LayerTimes>{{.name = "weight_grad", .help = "and of its W, likewise"},
                    each<&PartTimes::weight_grad>},
    Key<LayerTimes>{
        {.name = "experts", .help = "{forward, backward, ..} of a layer with experts, if unlike"},
        part_times<&LayerTimes::experts>},
    Key<LayerTimes>{{.name = "embedding", .help = "{forward, backward, ..} of the embedding"},
                    part_times<&LayerTimes::embedding>},
    Key<LayerTimes>{{.name = "head",
                     .help = "{forward, backward, ..} of the output matrix, its norm, the loss"},
                    part_times<&LayerTimes::head>},
};

bool has_backward_pass(const PartTimes& times) {
  return !times.backward.empty() || !times.input_grad.empty() || !times.weight_grad.empty();
}

}  // namespace

bool LayerTimes::has_forward() const {
  return !layers.forward.empty() || !experts.forward.empty() || !embedding.forward.empty() ||
         !head.forward.empty();
}

bool LayerTimes::has_backward() const {
  return has_backward_pass(layers) || has_backward_pass(experts) || has_backward_pass(embedding) ||
         has_backward_pass(head);
}

LayerTimes read_layer_times(const Field& field) {
  LayerTimes times = read_map<table>(field);
  check_backward(field, times.layers);
  return times;
}

void check_layer_times(const LayerTimes& times, const Field& field, const Model& model) {
  const auto key = [&](std::string_view name) {
    const Value* const given = find(field.value, name);
    return subject({given != nullptr ? *given : field.value, fmt::format("layer_times.{}", name)});
  };
  const Value* const experts = find(field.value, "experts");
  if (experts != nullptr && !model.experts)
    throw Error(fmt::format("{} are times of layers with experts, and {} has none; leave them out",
                            key("experts"), model.name.empty() ? "the model" : model.name));
  const auto check = [&](std::string_view name, const std::vector<double>& of_layers) {
    if (of_layers.size() < 2) return;
    if (of_layers.size() != model.layers)
      throw Error(fmt::format("{} has {} values; allowed: 1, or one per layer of {} ({})",
                              key(name), of_layers.size(),
                              model.name.empty() ? "the model" : model.name, model.layers));
    if (experts != nullptr)
      throw Error(
          fmt::format("{} has a time of each layer, those with experts included, and "
                      "layer_times.experts stands beside it; leave out one of them",
                      key(name)));
  };
  check("forward", times.layers.forward);
  check("backward", times.layers.backward);
  check("input_grad", times.layers.input_grad);
  check("weight_grad", times.layers.weight_grad);
}

std::vector<KeyRow> layer_times_keys() { return rows_of(table); }

}  // namespace pipewright::config
