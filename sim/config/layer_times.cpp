#include "sim/config/layer_times.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/keys.hpp"

namespace pipewright::config {
namespace {

constexpr std::string_view pass_time = "a pass time";

// Reads one time and returns it as a list with one item.
std::vector<double> read_single_time(const Field& field) { return {read_time(field, pass_time)}; }

template <auto member>
constexpr auto single_time = into<member, read_single_time>({ValueType::time});

constexpr std::array part_table{
    Key<PartTimes>{
        {.name = "forward", .help = "time of the forward pass F in this part of the model"},
        single_time<&PartTimes::forward>},
    Key<PartTimes>{
        {.name = "backward", .help = "time of the full backward pass B in this part of the model"},
        single_time<&PartTimes::backward>},
    Key<PartTimes>{{.name = "input_grad",
                    .help = "time of I, the backward pass of the input, in this part of the model"},
                   single_time<&PartTimes::input_grad>},
    Key<PartTimes>{
        {.name = "weight_grad",
         .help = "time of W, the backward pass of the weights, in this part of the model"},
        single_time<&PartTimes::weight_grad>},
};

void check_backward(const Field& field, const PartTimes& times) {
  if (times.backward.empty() || (times.input_grad.empty() && times.weight_grad.empty())) return;
  throw Error(field.value.origin,
              fmt::format("{}.backward includes {}", field.name,
                          times.input_grad.empty() ? "weight_grad" : "input_grad"))
      .suggest("give backward, or input_grad and weight_grad");
}

PartTimes read_part_times(const Field& field) {
  PartTimes times = read_map<part_table>(field);
  check_backward(field, times);
  return times;
}

std::vector<KeyRow> part_keys() { return rows_of(part_table); }

template <auto member>
constexpr auto part_times = section<member, read_part_times, part_keys>;

// Reader of the times of one kind of pass: one time for all layers, or a list with one per layer.
template <std::vector<double> PartTimes::*member>
constexpr Reader<LayerTimes> layer_times{[](const Field& field, LayerTimes& times) {
                                           times.layers.*member = read_times(field, pass_time);
                                         },
                                         {ValueType::time, true}};

constexpr std::array layer_times_table{
    Key<LayerTimes>{
        {.name = "forward", .help = "time of a layer's F: a single time, or one per layer"},
        layer_times<&PartTimes::forward>},
    Key<LayerTimes>{{.name = "backward",
                     .help = "time of a layer's B: a single time, or one per layer; the model "
                             "splits it into I and W"},
                    layer_times<&PartTimes::backward>},
    Key<LayerTimes>{{.name = "input_grad", .help = "time of a layer's I, instead of B"},
                    layer_times<&PartTimes::input_grad>},
    Key<LayerTimes>{{.name = "weight_grad", .help = "time of a layer's W, instead of B"},
                    layer_times<&PartTimes::weight_grad>},
    Key<LayerTimes>{
        {.name = "experts",
         .help =
             "times of a layer with experts, {forward, backward, ..}; default: as other layers"},
        part_times<&LayerTimes::experts>},
    Key<LayerTimes>{
        {.name = "embedding", .help = "times of the embedding, {forward, backward, ..}"},
        part_times<&LayerTimes::embedding>},
    Key<LayerTimes>{
        {.name = "head",
         .help = "times of output matrix, final norm and loss, {forward, backward, ..}"},
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
  LayerTimes times = read_map<layer_times_table>(field);
  check_backward(field, times.layers);
  return times;
}

void check_layer_times(const LayerTimes& times, const Field& field, const Model& model) {
  const std::string model_name = model.name.empty() ? "the model" : model.name;
  const Value* const experts = find(field.value, "experts");
  if (experts != nullptr && !model.experts)
    throw Error(experts->origin,
                fmt::format("layer_times.experts are times of layers with experts, and {} has none",
                            model_name))
        .suggest("leave them out");
  const auto check = [&](std::string_view name, const std::vector<double>& list) {
    if (list.size() < 2) return;
    const Origin& origin = origin_of(field.value, name);
    if (list.size() != model.layers)
      throw Error(origin, fmt::format("layer_times.{} has {} values", name, list.size()))
          .allow(fmt::format("1, or one per layer of {} ({})", model_name, model.layers));
    if (experts != nullptr)
      throw Error(origin, fmt::format("layer_times.{} has a time for every layer, and "
                                      "layer_times.experts for some of them again",
                                      name))
          .suggest("leave out one of them");
  };
  check("forward", times.layers.forward);
  check("backward", times.layers.backward);
  check("input_grad", times.layers.input_grad);
  check("weight_grad", times.layers.weight_grad);
}

std::vector<KeyRow> layer_times_keys() { return rows_of(layer_times_table); }

}  // namespace pipewright::config
