#include "sim/config/expert_training.hpp"

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 2> dispatched_names{"bf16", "fp8"};

DataType read_dispatched(const Field& field) {
  return read_choice(field, dispatched_names) == 0 ? DataType::bf16 : DataType::fp8_block;
}

constexpr Key<ExpertTraining> imbalance_row{
    {.name = "imbalance",
     .help = "tokens of the busiest rank of a group, relative to the mean; replaces routing",
     .default_value = "1"},
    {[](const Field& field, ExpertTraining& experts) {
       within<&ExpertTraining::imbalance, "a factor",
              "a factor from 1 to the ranks of ep, such as 1.3", 1, 4096>
           .read(field, experts);
       experts.routing = RouterBalance::forced;  // apart from this factor
     },
     {ValueType::number}}};
constexpr Key<ExpertTraining> power_law_row{
    {.name = "power_law",
     .help = "exponent of a power law from which imbalance is drawn for each layer and microbatch"},
    within<&ExpertTraining::power_law, "an exponent", "an exponent from 0 to 4, such as 1.01", 0,
           4>};
constexpr std::array unevenness_table{imbalance_row, power_law_row};

void read_routing(const Field& field, ExpertTraining& experts) {
  constexpr std::string_view allowed = "forced, natural or a map such as {imbalance: 1.3}";
  if (field.value.kind == Value::Kind::map) {
    if (field.value.entries.empty()) throw wrong(field, allowed);
    return read_keys<ExpertTraining>(field, unevenness_table, experts);
  }
  experts.routing = static_cast<RouterBalance>(read_choice(field, router_balance_names));
}

constexpr std::array expert_table{
    Key<ExpertTraining>{{.name = "dispatcher",
                         .flag = "--dispatcher",
                         .help = "token dispatcher of experts",
                         .default_value = "alltoall"},
                        choice<&ExpertTraining::dispatcher, dispatcher_names>},
    Key<ExpertTraining>{{.name = "dispatch_precision",
                         .help = "data type of dispatched tokens",
                         .default_value = "bf16"},
                        into<&ExpertTraining::dispatched, read_dispatched>(
                            {ValueType::choice, false, dispatched_names, nullptr})},
    Key<ExpertTraining>{{.name = "sms",
                         .help = "number of SMs that the kernels of deepep and hybridep use",
                         .default_value = "20; 16 for hybridep"},
                        count<&ExpertTraining::sms, "20">},
    Key<ExpertTraining>{
        {.name = "overlap",
         .alias = "overlap_moe_expert_parallel_comm",
         .help =
             "overlap token dispatch with compute of another microbatch, in fused pairs of passes",
         .default_value = "false"},
        flag<&ExpertTraining::overlap>},
    Key<ExpertTraining>{{.name = "delay_wgrad",
                         .alias = "delay_wgrad_compute",
                         .help = "start token dispatch of fused pairs before weight gradients, as "
                                 "in DualPipe; needs overlap",
                         .default_value = "false"},
                        flag<&ExpertTraining::delay_wgrad>},
    Key<ExpertTraining>{{.name = "shared_overlap",
                         .alias = "moe_shared_expert_overlap",
                         .help = "overlap token dispatch with the shared experts of the layer",
                         .default_value = "false"},
                        flag<&ExpertTraining::shared_overlap>},
    Key<ExpertTraining>{
        {.name = "op_fuser",
         .alias = "use_transformer_engine_op_fuser",
         .help = "fuse activation function, casts and biases into the matrix products of experts",
         .default_value = "false"},
        flag<&ExpertTraining::op_fuser>},
    Key<ExpertTraining>{
        {.name = "round_robin",
         .help =
             "tokens choose experts in turn, as when torchtitan or NeMo Automodel balances them "
             "by force, so that few ranks hold a token's experts",
         .default_value = "false"},
        flag<&ExpertTraining::round_robin>},
    Key<ExpertTraining>{
        {.name = "routing",
         .help =
             "balance of the router: every expert gets the same number of tokens, or as many as "
             "a trained router gives it; or a map {imbalance: 1.3}; a stack may set another "
             "default",
         .default_value = "natural"},
        {read_routing, {ValueType::choice, false, router_balance_names, nullptr}}},
    imbalance_row,
    power_law_row,
    Key<ExpertTraining>{
        {.name = "drop_above",
         .help = "tokens that an expert accepts, relative to the mean; it drops more than these, "
                 "and its buffers are not padded"},
        within<&ExpertTraining::drop_above, "a factor", "a factor of at least 1, such as 1.25", 1,
               unlimited>},
};

}  // namespace

std::uint32_t dispatch_sms(const ExpertTraining& experts) {
  return experts.sms.value_or(experts.dispatcher == Dispatcher::hybridep ? 16 : 20);
}

std::string dispatch_text(const ExpertTraining& experts) {
  return fmt::format("{}{}{}", base::name_of(dispatcher_names, experts.dispatcher),
                     experts.dispatched == DataType::bf16 ? "" : " fp8",
                     experts.overlap          ? " overlapped"
                     : experts.shared_overlap ? " beside shared experts"
                                              : "");
}

std::string routing_text(const ExpertTraining& experts) {
  if (experts.power_law) return fmt::format("power law {}", *experts.power_law);
  if (experts.imbalance > 1) return fmt::format("imbalance {}", experts.imbalance);
  if (experts.round_robin) return "round robin";
  return experts.draws_loads() ? "natural" : "";
}

std::vector<KeyRow> expert_training_keys() { return rows_of(expert_table); }

ExpertTraining read_expert_training(const Field& field) { return read_map<expert_table>(field); }

}  // namespace pipewright::config
