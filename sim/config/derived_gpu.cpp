#include "sim/config/derived_gpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/data_sheet.hpp"
#include "sim/config/data_type.hpp"
#include "sim/config/nearest_gpu.hpp"
#include "sim/config/published_range.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

// Data types, each with the types whose numbers stand for its own if a GPU lacks them, nearest
// first. bf16 comes last, since every GPU has its numbers.
struct Nearest {
  std::string_view type;
  std::array<std::string_view, 5> others;
};
constexpr std::array nearest_types{
    Nearest{"bf16", {}},
    Nearest{"fp16", {"bf16"}},
    Nearest{"tf32", {"bf16"}},
    Nearest{"fp32", {"tf32", "bf16"}},
    Nearest{"fp8", {"fp8-block", "mxfp8", "bf16"}},
    Nearest{"fp8-row", {"fp8", "fp8-block", "mxfp8", "bf16"}},
    Nearest{"fp8-block", {"mxfp8", "fp8", "bf16"}},
    Nearest{"mxfp8", {"fp8-block", "fp8", "bf16"}},
    Nearest{"nvfp4", {"mxfp4", "mxfp8", "fp8-block", "fp8", "bf16"}},
    Nearest{"mxfp4", {"nvfp4", "mxfp8", "fp8-block", "fp8", "bf16"}},
};
static_assert(nearest_types.size() == data_types.size());
// Largest relative difference between the peaks of one chip that data sheets round differently.
constexpr double same_peak = 0.01;

std::string product_key(std::string_view type, std::string_view key) {
  return fmt::format("products.{}.{}", type, key);
}

// Returns the peak of a data type, which for 16 bits is that of the GPU.
std::optional<double> peak_of(const Value& tree, std::string_view type) {
  const std::optional<double> own = flops_at(tree, product_key(type, "flops"));
  const bool is_16_bits = type == "bf16" || type == "fp16";
  return own || !is_16_bits ? own : flops_at(tree, "flops");
}

double ratio(const std::optional<double>& own, const std::optional<double>& base) {
  return own && base ? *own / *base : 1;
}

// Adds numbers of one GPU (`base`) to the map of another.
class Derivation {
 public:
  Derivation(Value& tree, const Value& base) : tree_(tree), base_(base) {}

  // Returns the dotted keys of the added numbers.
  const std::set<std::string>& keys() const { return keys_; }

  void run() {
    for (const char* const key :
         {"flops", "memory", "memory_bandwidth", "host_bandwidth", "processors",
          "memory_efficiency", "recurrence_efficiency", "delta_efficiency", "kernel_overhead"})
      take(key);
    const DataSheet own(tree_);
    const DataSheet base(base_);
    const double speed = ratio(own.flops, base.flops);
    // The key allows no less than 1 GiB, which GPUs of tests may have.
    constexpr double smallest_memory = 2 * 0x1p30;
    if (own.memory.value_or(smallest_memory) >= smallest_memory)
      take_scaled(quantity_at<parse_memory>, "free_memory", ratio(own.memory, base.memory) / 0x1p30,
                  "{:.2f} GiB");
    take_scaled(quantity_at<parse_power>, "power.idle", ratio(own.power, base.power), "{:.4g} W");
    take("power.compute");
    take_attention(speed / ratio(own.processors, base.processors));
    const double clock = own.power && base.power
                             ? std::pow(*own.power / *base.power / speed, 1 / power_exponent)
                             : 1;
    take_clock("clock.products", "clock.products", clock);
    take_clock("clock.attention", "clock.attention", clock);
    take("clock.memory");
    const bool is_same_chip = std::abs(speed - 1) < same_peak;
    for (const Nearest& nearest : nearest_types) take_products(nearest, is_same_chip, clock);
  }

 private:
  // Sets a key that the map does not have. A key within something that is no map stays unset, so
  // that the reader of the map reports it.
  void add(const std::string& path, Value value) {
    const std::string_view view = path;
    for (std::size_t end = view.find('.'); end != std::string_view::npos;
         end = view.find('.', end + 1))
      if (const Value* const outer = value_at(tree_, view.substr(0, end));
          outer != nullptr && outer->kind != Value::Kind::map)
        return;
    if (value_at(tree_, path) != nullptr) return;
    set_value(tree_, path, std::move(value));
    keys_.insert(path);
  }
  void take(const std::string& path, const std::string& source) {
    if (const Value* const value = value_at(base_, source)) add(path, *value);
  }
  void take(const std::string& path) { take(path, path); }

  // Adds a number in proportion to that of the base, which `read` reads.
  template <class Read>
  void take_scaled(Read read, const std::string& path, double factor,
                   fmt::format_string<double> format) {
    if (const std::optional<double> number = read(base_, path))
      add(path, make_text(fmt::format(format, *number * factor), value_at(base_, path)->origin));
  }

  // Adds a clock, which exceeds 1 only if that of the base does.
  void take_clock(const std::string& path, const std::string& source, double factor) {
    if (const std::optional<double> clock = number_at(base_, source))
      add(path, make_text(fmt::format("{:.3g}", std::min(*clock * factor, std::max(1.0, *clock))),
                          value_at(base_, source)->origin));
  }

  // Adds rates of attention kernels. Each processor is faster than the base's by a factor.
  void take_attention(double factor) {
    const Value* const kernels = find(base_, "attention");
    if (kernels == nullptr) return;
    for (const Entry& kernel : kernels->entries) {
      const std::string path = "attention." + kernel.key;
      if (kernel.value.kind == Value::Kind::text) take(path);
      take_rates(path, kernel.value, factor);
    }
  }

  // Adds the rates of a kernel, and those of its narrower types.
  void take_rates(const std::string& path, const Value& rates, double factor) {
    for (const Entry& rate : rates.entries) {
      const std::string key = fmt::format("{}.{}", path, rate.key);
      if (rate.value.kind == Value::Kind::map)
        take_rates(key, rate.value, factor);
      else if (rate.key.ends_with("half_length"))
        take_half_length(key, factor);
      else
        take(key);
    }
  }

  void take_half_length(const std::string& path, double factor) {
    constexpr double longest = 1e6;  // keys
    if (const std::optional<double> keys = number_at(base_, path))
      add(path, make_text(fmt::format("{:.4g}", std::min(*keys * factor, longest)),
                          value_at(base_, path)->origin));
  }

  // Returns the type with the nearest numbers that the base has.
  std::string_view source_of(const Nearest& nearest) const {
    if (value_at(base_, fmt::format("products.{}", nearest.type)) != nullptr) return nearest.type;
    for (const std::string_view other : nearest.others)
      if (!other.empty() && value_at(base_, fmt::format("products.{}", other)) != nullptr)
        return other;
    return {};
  }

  // Adds the peak of a type that the map does not state: that of a chip with the same peak, or for
  // one of 8 bits in the same proportion to another one of 8 bits.
  void take_peak(std::string_view type, bool is_same_chip) {
    const std::optional<double> base = flops_at(base_, product_key(type, "flops"));
    if (!base) return;
    double factor = 0;
    if (is_same_chip) factor = 1;
    if (std::ranges::find(eight_bits, type) != eight_bits.end())
      for (const std::string_view other : eight_bits)
        if (const auto own = peak_of(tree_, other), theirs = peak_of(base_, other); own && theirs)
          factor = *own / *theirs;
    if (factor > 0)
      add(product_key(type, "flops"),
          make_text(fmt::format("{:.10g} TFLOP/s", *base * factor / 1e12),
                    value_at(base_, product_key(type, "flops"))->origin));
  }

  // A map without the peak of a type describes a GPU that lacks the type.
  void take_products(const Nearest& nearest, bool is_same_chip, double clock) {
    take_peak(nearest.type, is_same_chip);
    const std::string_view source = source_of(nearest);
    const bool is_named = value_at(tree_, fmt::format("products.{}", nearest.type)) != nullptr;
    const bool is_default = nearest.type == "bf16" || (nearest.type == "fp16" && source == "fp16");
    if (source.empty() || (!is_named && !is_default)) return;
    const Value* const products = value_at(base_, fmt::format("products.{}", source));
    for (const Entry& entry : products->entries) {
      const std::string key = product_key(nearest.type, entry.key);
      if (entry.key == "clock")
        take_clock(key, product_key(source, "clock"), clock);
      else if (entry.key != "flops")
        take(key, product_key(source, entry.key));
    }
  }

  Value& tree_;
  const Value& base_;
  std::set<std::string> keys_;
};

// Returns whether the key is `outer` or within it.
bool is_key_within(std::string_view outer, std::string_view key) {
  return key.starts_with(outer) && (key.size() == outer.size() || key[outer.size()] == '.');
}

// Returns the keys that both a list of keys and `key` name: the narrower of each pair.
std::vector<std::string> common_keys(const std::vector<std::string>& keys, std::string_view key) {
  std::vector<std::string> common;
  for (const std::string& each : keys)
    if (is_key_within(key, each))
      common.push_back(each);
    else if (is_key_within(each, key))
      common.emplace_back(key);
  return common;
}

std::vector<std::string> list_texts(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& item : list.items) texts.push_back(item.text);
  if (list.kind == Value::Kind::text) texts.push_back(list.text);
  return texts;
}

void add_to_list(Value& tree, const std::string& path, const std::vector<std::string>& texts,
                 const Origin& origin) {
  if (texts.empty()) return;
  std::vector<std::string> all;
  if (const Value* const list = value_at(tree, path)) all = list_texts(*list);
  for (const std::string& text : texts)
    if (std::ranges::find(all, text) == all.end()) all.push_back(text);
  std::erase_if(tree.entries, [&](const Entry& entry) { return entry.key == path; });
  set_value(tree, path, make_list(all, origin));
}

// Appends those of `keys` that are within `value`, the value of the key `path`, to `found`. A map
// of which all keys are among them counts as one key. Returns whether all are.
bool add_widest(const Value& value, const std::string& path, const std::set<std::string>& keys,
                std::vector<std::string>& found) {
  std::vector<std::string> inner;
  bool is_whole = keys.contains(path);
  if (!is_whole && !value.entries.empty()) {
    is_whole = true;
    for (const Entry& entry : value.entries)
      is_whole &=
          add_widest(entry.value, path.empty() ? entry.key : path + "." + entry.key, keys, inner);
  }
  if (is_whole && !path.empty())
    found.push_back(path);
  else
    found.insert(found.end(), inner.begin(), inner.end());
  return is_whole;
}

// Lists derived keys in `derived`, below the GPU whose file states them, and adds those that are
// assumed there to `assumed`.
void mark_derived(Value& tree, const Value& base, const std::string& name,
                  std::vector<std::string> keys, const Origin& origin) {
  if (const Value* const assumed = find(base, "assumed"))
    for (const std::string& key : list_texts(*assumed))
      add_to_list(tree, "assumed", common_keys(keys, key), origin);
  Value derived{.kind = Value::Kind::map, .origin = origin};
  if (const Value* const own = find(tree, "derived")) derived = *own;
  std::erase_if(tree.entries, [](const Entry& entry) { return entry.key == "derived"; });
  if (const Value* const inherited = find(base, "derived"))
    for (const Entry& from : inherited->entries) {
      std::vector<std::string> own;
      for (const std::string& key : list_texts(from.value))
        for (std::string& common : common_keys(keys, key)) own.push_back(std::move(common));
      std::erase_if(
          keys, [&](const std::string& key) { return std::ranges::find(own, key) != own.end(); });
      if (!own.empty()) derived.entries.push_back({from.key, origin, make_list(own, origin)});
    }
  if (!keys.empty()) derived.entries.push_back({name, origin, make_list(keys, origin)});
  if (!derived.entries.empty()) tree.entries.push_back({"derived", origin, std::move(derived)});
}

// GPUs from the one that is read on, each of which derives from the next.
struct GpuChain {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> files;
};

void add_to_chain(const Field& like, const Value& base, GpuChain& chain) {
  chain.names.push_back(like.value.text);
  std::filesystem::path file = std::filesystem::canonical(base.origin.source);
  if (std::ranges::find(chain.files, file) != chain.files.end())
    throw Error(like.value.origin,
                fmt::format("{} derives from itself: {}", in_quotes(like.value.text),
                            fmt::join(chain.names, " -> ")))
        .suggest("name a measured GPU under like, such as h100-sxm");
  chain.files.push_back(std::move(file));
}

// Returns derived_gpu_tree() with the middles of ranges.
Value derived_tree(const Field& map, GpuChain& chain) {
  Value tree = at_range_end(map.value, RangeEnd::middle);
  const auto entry = std::ranges::find(tree.entries, "like", &Entry::key);
  if (entry == tree.entries.end()) return tree;
  const Value like = std::move(entry->value);
  tree.entries.erase(entry);
  const Field field{like, map.name + ".like"};
  if (like.kind != Value::Kind::text)
    throw wrong(field,
                "a name in the library of gpus, a path of a file, or none, such as h100-sxm");
  if (like.text == no_gpu) return tree;
  const std::string name = label_of_file(like.text);
  const Value written = with_nearest_gpu(library_map(field, "gpus", gpu_document), name);
  add_to_chain(field, written, chain);
  const Value base = derived_tree({written, field.name}, chain);
  Derivation derivation(tree, base);
  derivation.run();
  std::vector<std::string> keys;
  add_widest(tree, "", derivation.keys(), keys);
  mark_derived(tree, base, name, std::move(keys), like.origin);
  constexpr const char* architecture = "architecture";
  const Value* const of_base = find(base, architecture);
  if (find(tree, architecture) == nullptr && of_base != nullptr)
    tree.entries.push_back({architecture, like.origin, *of_base});
  return tree;
}

// Removes the texts from a list that name `key` or a map that contains it.
void drop_key(Value& list, std::string_view key) {
  std::erase_if(list.items, [&](const Value& item) { return is_key_within(item.text, key); });
}

bool is_empty(const Entry& entry) {
  return entry.value.kind != Value::Kind::text && entry.value.items.empty() &&
         entry.value.entries.empty();
}

}  // namespace

void mark_measured(Value& tree, std::string_view key) {
  if (Value* const assumed = find(tree, "assumed")) drop_key(*assumed, key);
  if (Value* const derived = find(tree, "derived")) {
    for (Entry& source : derived->entries) drop_key(source.value, key);
    std::erase_if(derived->entries, is_empty);
  }
  std::erase_if(tree.entries, [](const Entry& entry) {
    return (entry.key == "assumed" || entry.key == "derived") && is_empty(entry);
  });
}

Value derived_gpu_tree(const Field& map) {
  if (map.value.kind != Value::Kind::map) return map.value;
  GpuChain chain;
  Value tree = derived_tree(map, chain);
  for (const PublishedRange& range : published_ranges(map.value))
    set_value(tree, range.key, *value_at(map.value, range.key));
  return tree;
}

}  // namespace pipewright::config
