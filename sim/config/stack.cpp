#include "sim/config/stack.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/config/data_type.hpp"
#include "sim/config/partition.hpp"
#include "sim/config/stack_rules.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::config {
namespace {

static_assert(stack_rules.size() <= max_stack_rules);

constexpr Document stack_document{"a stack", "host and attention", "like: megatron-core"};

constexpr std::array host_table{
    Key<HostTimes>{{.name = "kernel",
                    .help = "host time from one launch of a modelled kernel to the next",
                    .required = true},
                   kernel_time<&HostTimes::kernel>},
    Key<HostTimes>{{.name = "collective",
                    .help = "host time of a call of a collective",
                    .default_value = "0 us"},
                   kernel_time<&HostTimes::collective>},
    Key<HostTimes>{{.name = "loop",
                    .help = "host time of each further launch in a loop over experts, within a "
                            "call of a library",
                    .default_value = "0 us"},
                   kernel_time<&HostTimes::loop>},
    Key<HostTimes>{{.name = "operation",
                    .help = "host time of a single operation of PyTorch, such as a product of Muon",
                    .default_value = "host.kernel"},
                   kernel_time<&HostTimes::operation>},
    Key<HostTimes>{{.name = "pass",
                    .help = "fixed time of a pass of a microbatch through a stage",
                    .default_value = "0 ms"},
                   pass_time<&HostTimes::pass>},
    Key<HostTimes>{{.name = "iteration",
                    .help = "fixed time of an iteration: optimizer, logging, loading of data",
                    .default_value = "0 ms"},
                   pass_time<&HostTimes::iteration>},
};

// Reader of bytes of temporary tensors per element of another tensor.
template <auto member>
constexpr auto bytes_per_element =
    into<member,
         none_or_within<"bytes per element", "bytes per element, from 0 to 64, such as 8", 64>>(
        {ValueType::number});

constexpr std::array memory_table{
    Key<SoftwareMemory>{{.name = "fragmentation",
                         .help = "memory of the allocator beyond tensors, as a fraction of "
                                 "activations: default of training.fragmentation",
                         .default_value = "10 %"},
                        part<&SoftwareMemory::fragmentation, "a part of the activations">},
    Key<SoftwareMemory>{{.name = "context",
                         .help = "memory of the CUDA context; with nccl_buffers the default of "
                                 "training.reserved",
                         .default_value = "512 MiB"},
                        size<&SoftwareMemory::context, "a size of memory">},
    Key<SoftwareMemory>{{.name = "nccl_buffers",
                         .help = "memory of NCCL's buffers, all communicators together",
                         .default_value = "1536 MiB"},
                        size<&SoftwareMemory::nccl_buffers, "a size of memory">},
    Key<SoftwareMemory>{{.name = "workspace",
                         .help = "workspaces of matrix products, which stay allocated",
                         .default_value = "96 MiB"},
                        size<&SoftwareMemory::workspace, "a size of memory">},
    Key<SoftwareMemory>{
        {.name = "expert_workspace",
         .help = "workspaces of the products of experts, beside workspace: the host "
                 "launches one kernel for each expert; 0: one for all experts",
         .default_value = "0 MiB"},
        size<&SoftwareMemory::expert_workspace, "a size of memory">},
    Key<SoftwareMemory>{{.name = "graph_kernel",
                         .help = "memory of each kernel in a CUDA graph",
                         .default_value = "20 kB"},
                        size<&SoftwareMemory::graph_kernel, "a size of memory">},
    Key<SoftwareMemory>{{.name = "loss_working",
                         .help = "bytes per logit of gradients and copies beside the stored fp32 "
                                 "logits, in the backward pass of a loss that is not fused",
                         .default_value = "2"},
                        bytes_per_element<&SoftwareMemory::loss_working>},
    Key<SoftwareMemory>{{.name = "fused_loss_working",
                         .help = "the same of a fused loss, whose stored logits have 16 bits",
                         .default_value = "0"},
                        bytes_per_element<&SoftwareMemory::fused_loss_working>},
    Key<SoftwareMemory>{{.name = "optimizer_working",
                         .help = "bytes that the optimizer's step allocates for each parameter "
                                 "that it updates",
                         .default_value = "0"},
                        bytes_per_element<&SoftwareMemory::optimizer_working>},
    Key<SoftwareMemory>{{.name = "unused_gradients",
                         .help = "products that accumulate into the gradients keep an unused "
                                 "gradient of 16 bits for each shape of a weight",
                         .default_value = "false"},
                        flag<&SoftwareMemory::unused_gradients>},
    Key<SoftwareMemory>{{.name = "delayed_frees",
                         .help = "NCCL delays the freeing of tensors that it reads, so that those "
                                 "of a whole pass exist at the same time",
                         .default_value = "false"},
                        flag<&SoftwareMemory::delayed_frees>},
};

struct Recomputation {
  bool early_stop = false;
};
constexpr std::array recomputation_table{
    Key<Recomputation>{{.name = "early_stop",
                        .help = "stop recomputing a module before its last product, as PyTorch's "
                                "non-reentrant checkpoint does",
                        .default_value = "false"},
                       flag<&Recomputation::early_stop>},
};

std::vector<AttentionKernel> read_attention(const Field& field) {
  std::vector<AttentionKernel> kernels;
  for (const Field& item :
       items(field, "an attention kernel or a list of them, such as [cudnn, fa2]"))
    kernels.push_back(static_cast<AttentionKernel>(read_choice(item, attention_kernel_names)));
  if (kernels.empty()) throw wrong(field, "at least one attention kernel, such as fa2");
  return kernels;
}

// Reads the set of those rows of `names` that a list names; an empty list is the empty set.
template <std::size_t capacity>
std::bitset<capacity> read_set(const Field& field, std::span<const std::string_view> names,
                               std::string_view allowed) {
  std::bitset<capacity> set;
  if (field.value.kind == Value::Kind::list && field.value.items.empty()) return set;
  for (const Field& item : items(field, allowed)) set.set(read_choice(item, names));
  return set;
}

std::vector<std::string> read_schedule_names(const Field& field) {
  std::vector<std::string> names;
  if (field.value.kind == Value::Kind::list && field.value.items.empty()) return names;
  std::vector<std::string_view> known;
  for (const schedules::Entry& entry : schedules::catalog()) known.push_back(entry.name);
  for (const Field& item : items(field, "a list of schedules, such as [1f1b, interleaved-1f1b]"))
    names.emplace_back(known[read_choice(item, known)]);
  return names;
}

// Keys of the section training that describe software. The others describe a job.
constexpr auto training_of_software = std::to_array<std::string_view>(
    {"bytes", "optimizer", "cuda_graphs", "tensor_format", "fused_accumulation",
     "deallocate_outputs", "vocabulary_multiple", "fragmentation", "reserved", "experts.dispatcher",
     "experts.sms", "experts.op_fuser", "experts.routing"});
// Keys of the section communication without those that select a method of simulation.
constexpr auto communication_of_software = std::to_array<std::string_view>(
    {"overlap_p2p", "overlap_grad_reduce", "overlap_param_gather", "zero_gradients", "zero_weights",
     "tp_comm_overlap", "async_tensor_model_parallel_allreduce", "scatter_gather", "bucket",
     "gradient_bytes", "all_reduce", "nccl", "sms", "overlap_slowdown", "global_norm"});

// Throws an Error if a map has other keys than `allowed`, which are dotted names. `prefix` is the
// name of the map within its section, with a dot at its end.
void check_software_keys(const Field& map, const std::string& prefix,
                         std::span<const std::string_view> allowed) {
  for (const Entry& entry : map.value.entries) {
    const std::string path = prefix + entry.key;
    if (std::ranges::find(allowed, path) != allowed.end()) continue;
    const std::string name = fmt::format("{}.{}", map.name, entry.key);
    const bool has_allowed_keys = std::ranges::any_of(
        allowed, [&](std::string_view key) { return key.starts_with(path + "."); });
    if (!has_allowed_keys || entry.value.kind != Value::Kind::map)
      throw Error(
          entry.origin,
          fmt::format("{} is no key of a stack: it describes a job, and not its software", name),
          name)
          .suggest("set the key in the scenario")
          .allow(fmt::format("{}", fmt::join(allowed, ", ")));
    check_software_keys({entry.value, name}, path + ".", allowed);
  }
}

// Checks the keys, and keeps the values as they are: they are read as keys of the scenario.
template <const auto& allowed>
void keep(const Field& field, Stack&) {
  if (field.value.kind != Value::Kind::map)
    throw wrong(field, fmt::format("a map of keys of the section {} of scenarios",
                                   field.name.substr(field.name.rfind('.') + 1)));
  check_software_keys(field, "", allowed);
}

constexpr std::array stack_table{
    Key<Stack>{{.name = "name", .help = "name of the stack; default: name of the file"},
               text<&Stack::name, "a name">},
    Key<Stack>{{.name = "help", .help = "description of the software in one line"},
               text<&Stack::help, "a line of text">},
    Key<Stack>{{.name = "family", .help = "software that stacks share, such as megatron"},
               text<&Stack::family, "the name of a family, such as megatron">},
    Key<Stack>{{.name = "source", .help = "source of the numbers"}, {[](const Field& f, Stack&) {
                 read_text(f, "a text that names the source of the numbers");
               }}},
    Key<Stack>{{.name = "like", .help = "stack whose keys this one overrides"},
               {[](const Field&, Stack&) {}, {ValueType::library}}},
    Key<Stack>{
        {.name = "host", .help = "times of the host, for a launch factor of 1", .required = true},
        map_of<&Stack::host, host_table>},
    Key<Stack>{{.name = "memory", .help = "memory on each GPU beside the tensors of a model"},
               map_of<&Stack::memory, memory_table>},
    Key<Stack>{{.name = "fused", .help = "groups of small kernels that run as one kernel"},
               {[](const Field& field, Stack& stack) {
                  stack.fused = read_set<fusable_names.size()>(
                      field, fusable_names, "a list of groups, such as [norm, rope]");
                },
                {ValueType::choice, true, fusable_names, nullptr}}},
    Key<Stack>{{.name = "attention",
                .help = "attention kernels in order of preference; the first that the GPU has is "
                        "used",
                .required = true},
               into<&Stack::attention, read_attention>(
                   {ValueType::choice, true, attention_kernel_names, nullptr})},
    Key<Stack>{{.name = "sinks_skip_masked",
                .help = "fused attention with sinks skips the pairs that the mask and windows "
                        "exclude; false: it computes all pairs",
                .default_value = "true"},
               flag<&Stack::sinks_skip_masked>},
    Key<Stack>{{.name = "recompute", .help = "recomputation of activations by this software"},
               {[](const Field& field, Stack& stack) {
                  stack.early_stop = read_map<recomputation_table>(field).early_stop;
                },
                {ValueType::map, false, {}, [] { return rows_of(recomputation_table); }}}},
    Key<Stack>{{.name = "rules",
                .help = "rules of jobs that this software refuses; 'run' notes a broken rule, and "
                        "searches exclude the candidate"},
               {[](const Field& field, Stack& stack) {
                  stack.rules = read_set<max_stack_rules>(
                      field, stack_rule_names, "a list of rules, such as [interleaving_needs_pp]");
                },
                {ValueType::choice, true, stack_rule_names, nullptr}}},
    Key<Stack>{{.name = "schedules",
                .help = "schedules of this software's pipelines; without the key, all; 'run' notes "
                        "another one, and searches exclude the candidate"},
               into<&Stack::schedules, read_schedule_names>({ValueType::text, true})},
    Key<Stack>{{.name = "max_unsharded_stages",
                .help = "default of parallel.max_unsharded_stages of scenarios; else all stages"},
               count<&Stack::max_unsharded_stages, "3">},
    Key<Stack>{{.name = "unshard_lookahead",
                .help = "default of parallel.unshard_lookahead of scenarios",
                .default_value = "full"},
               choice<&Stack::unshard_lookahead, unshard_rule_names>},
    Key<Stack>{
        {.name = "gather_ahead",
         .help = "default of parallel.gather_ahead of scenarios; without this key, one layer"},
        count<&Stack::gather_ahead, "500000000">},
    Key<Stack>{{.name = "sums_copies_once",
                .help = "zero 3 with replicate: replicas of a shard sum up gradients after the "
                        "last microbatch; false: after each",
                .default_value = "false"},
               flag<&Stack::sums_copies_once>},
    Key<Stack>{{.name = "replica_spread",
                .help = "standard deviation of the times of equal replicas, relative to their "
                        "mean: more than 8 replicas wait for a slower one; ignored with jitter",
                .default_value = "0"},
               part<&Stack::replica_spread, "a deviation">},
    Key<Stack>{{.name = "partition",
                .help = "default of the key partition of scenarios: a rule",
                .default_value = "even"},
               {[](const Field& field, Stack&) { read_choice(field, partition_rules); },
                {ValueType::choice, false, partition_rules, nullptr}}},
    Key<Stack>{{.name = "training", .help = "defaults of the section training of scenarios"},
               {keep<training_of_software>, {ValueType::map}}},
    Key<Stack>{
        {.name = "communication", .help = "defaults of the section communication of scenarios"},
        {keep<communication_of_software>, {ValueType::map}}},
    Key<Stack>{{.name = "assumed", .help = "keys of this file whose values are assumed"},
               key_names<&Stack::assumed, stack_keys, "keys of this file, such as [host.kernel]">},
};

// Keys of a scenario whose defaults a stack gives.
constexpr std::array<std::string_view, 3> default_keys{"training", "communication", "partition"};

// Adds the entries of `base` that a map lacks, and merges maps that both have.
void add_missing(Value& map, const Value& base) {
  for (const Entry& entry : base.entries) {
    Value* const own = find(map, entry.key);
    if (own == nullptr)
      map.entries.push_back(entry);
    else if (own->kind == Value::Kind::map && entry.value.kind == Value::Kind::map)
      add_missing(*own, entry.value);
  }
}

// Adds to a map's list of assumed keys those of `base` that the map does not set itself.
void add_assumptions(Value& map, const Value& base) {
  const Value* const inherited = find(base, "assumed");
  if (inherited == nullptr) return;
  Value assumed{.kind = Value::Kind::list, .origin = inherited->origin};
  if (const Value* const own = find(map, "assumed")) assumed = *own;
  for (const Value& key : inherited->items)
    if (value_at(map, key.text) == nullptr) assumed.items.push_back(key);
  std::erase_if(map.entries, [](const Entry& entry) { return entry.key == "assumed"; });
  if (!assumed.items.empty()) map.entries.push_back({"assumed", assumed.origin, assumed});
}

// Stacks from the one that is read on, each of which inherits from the next.
struct Chain {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> files;
};

Value inherited_tree(const Field& field, Chain& chain) {
  Value tree = library_map(field, "stacks", stack_document);
  if (field.value.kind == Value::Kind::text) {
    chain.names.push_back(field.value.text);
    std::filesystem::path file = std::filesystem::canonical(tree.origin.source);
    if (std::ranges::find(chain.files, file) != chain.files.end())
      throw Error(field.value.origin,
                  fmt::format("{} inherits from itself: {}", in_quotes(field.value.text),
                              fmt::join(chain.names, " -> ")))
          .suggest("name another stack under like, or leave it out");
    chain.files.push_back(std::move(file));
  }
  const auto like = std::ranges::find(tree.entries, "like", &Entry::key);
  if (like == tree.entries.end()) return tree;
  Value base = inherited_tree({like->value, field.name + ".like"}, chain);
  tree.entries.erase(like);
  add_assumptions(tree, base);
  std::erase_if(base.entries, [](const Entry& entry) {
    return entry.key == "name" || entry.key == "help" || entry.key == "source" ||
           entry.key == "assumed";
  });
  add_missing(tree, base);
  return tree;
}

}  // namespace

Value stack_tree(const Field& field) {
  Chain chain;
  return inherited_tree(field, chain);
}

Value named_stack_tree(const Field& field) {
  const Value* named = &field.value;
  while (named->kind == Value::Kind::map && find(*named, "like") != nullptr)
    named = find(*named, "like");
  const std::string& file = named->text;
  Value tree = stack_tree(field);
  return file.empty() ? tree : with_name(std::move(tree), field, label_of_file(file));
}

Stack read_stack(const Field& field) { return read_map<stack_table>(field); }

Value with_default_stack(Value root) {
  if (find(root, "stack") == nullptr) {
    const Origin origin{.source = "the default stack"};
    Value stack{.kind = Value::Kind::map, .origin = origin};
    stack.entries.push_back({"like", origin, make_text(std::string(default_stack), origin)});
    stack.entries.push_back({"schedules", origin, {.kind = Value::Kind::list, .origin = origin}});
    root.entries.push_back({"stack", origin, std::move(stack)});
  }
  return root;
}

namespace {

bool trains_in_32_bits(const Value& root) {
  const Value* const training = find(root, "training");
  const Value* precision = training == nullptr ? nullptr : find(*training, "precision");
  if (precision != nullptr && precision->kind == Value::Kind::map)
    precision = find(*precision, "default");
  if (precision == nullptr) return false;
  const auto type = std::ranges::find(data_types, precision->text);
  return type != data_types.end() && has_32_bits(static_cast<DataType>(type - data_types.begin()));
}

}  // namespace

Value with_stack_defaults(Value root, const Value& stack) {
  const bool is_wide = trains_in_32_bits(root);
  for (const std::string_view key : default_keys)
    if (const Value* const of_stack = find(stack, key)) {
      Value defaults = *of_stack;
      if (is_wide)
        std::erase_if(defaults.entries, [](const Entry& entry) {
          return entry.key == "bytes" || entry.key == "gradient_bytes";
        });
      Value* own = find(root, key);
      if (own == nullptr) {
        root.entries.push_back({std::string(key), defaults.origin, std::move(defaults)});
      } else {
        add_missing(*own, defaults);
      }
    }
  return root;
}

std::vector<KeyRow> stack_keys() { return rows_of(stack_table); }

}  // namespace pipewright::config
