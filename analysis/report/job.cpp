#include "analysis/report/job.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::string_view part_separator = ", ";

std::vector<std::string_view> parts_of_job(std::string_view job) {
  std::vector<std::string_view> parts;
  while (!job.empty()) {
    const std::size_t end = std::min(job.find(part_separator), job.size());
    parts.push_back(job.substr(0, end));
    job.remove_prefix(std::min(end + part_separator.size(), job.size()));
  }
  return parts;
}

// Name of the job's stack, "torchtitan (changed)"; empty if the job has none.
std::string stack_text(const JobInfo& job) {
  if (job.stack.empty()) return {};
  return printable(job.stack) + (job.is_changed_stack ? " (changed)" : "");
}

void add_size(std::string& text, const char* name, std::uint64_t size, std::uint64_t default_size) {
  if (size != default_size) text += fmt::format(", {} {}", name, size);
}

void add_choice(std::string& text, const char* name, const std::string& choice,
                const char* default_choice) {
  if (choice != default_choice) text += fmt::format(", {} {}", name, printable(choice));
}

// Adds the settings that concern the samples of a batch, and the partition of layers into stages.
void add_sample_settings(std::string& text, const JobInfo& job) {
  add_size(text, "microbatch", job.microbatch_size, 1);
  add_choice(text, "documents", job.lengths, "");
  if (job.dispatch != "alltoall") add_choice(text, "dispatch", job.dispatch, "");
  add_choice(text, "experts' tokens", job.routing, "");
  add_choice(text, "partition", job.partition, "even");
}

// Adds the precision and the settings that decide how a layer is computed and what it keeps.
void add_compute_settings(std::string& text, const JobInfo& job) {
  text += ", " + printable(job.precision);
  add_choice(text, "cuda graphs", job.cuda_graphs, "none");
  if (!job.flash_attention) text += ", scores kept";
  add_choice(text, "recompute", job.recompute, "none");
  add_choice(text, "offload", job.offload, "none");
  if (!job.optimizer.empty()) add_choice(text, "optimizer", job.optimizer, "adam");
  add_choice(text, "training", job.trained, "");
}

std::string in_capitals(std::string word) {
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return word;
}

// Returns a word of a model's name as its makers spell it: "Llama" for "llama", "70B" for "70b".
std::string model_word(std::string word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> irregular{
      {{"deepseek", "DeepSeek"}, {"glm", "GLM"}, {"gpt", "GPT"}, {"oss", "OSS"}, {"olmo", "OLMo"}}};
  const auto* const match =
      std::ranges::find(irregular, std::string_view(word), &decltype(irregular)::value_type::first);
  if (match != irregular.end()) return std::string(match->second);
  const bool is_size =
      word.size() > 1 && word.ends_with('b') && word.find_first_of("0123456789") < 2;
  if (word.starts_with("gpt") && word.size() == 4) return in_capitals(std::move(word));
  word.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(word.front())));
  if (is_size) word.back() = 'B';
  return word;
}

// Turns a name of the library into a title. Names without a number, or with other characters than
// those of the library, are left as they are.
template <class Word>
std::string library_title(const std::string& name, const Word& word_of) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::string_view library_characters = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  if (name.find_first_not_of(library_characters) != std::string::npos ||
      name.find_first_of(digits) == std::string::npos)
    return printable(name);
  std::string title;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('-', begin), name.size());
    if (end > begin) title += (title.empty() ? "" : " ") + word_of(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return title;
}

// Returns whether the job has generalized tensor parallelism, which says how its ranks of dp shard
// weights.
bool divides_weights(const JobInfo& job) { return job.gtp > 1 || job.expert_gtp > 1; }

void add_weight_shards(std::string& text, const JobInfo& job) {
  add_size(text, "gtp", job.gtp, 1);
  add_size(text, "expert gtp", job.expert_gtp, 1);
}

}  // namespace

std::string describe(const JobInfo& job) {
  if (job.model.empty()) return "";
  std::string text = printable(job.model) + (job.gpu.empty() ? "" : " on " + printable(job.gpu));
  add_choice(text, "stack", stack_text(job), "");
  if (job.tp_by_device.empty())
    add_size(text, "tp", job.tp, 1);
  else
    text += fmt::format(", tp {}", printable(job.tp_by_device));
  if (job.sequence_parallel && job.tp > 1) text += ", sp";
  add_size(text, "cp", job.cp, 1);
  add_size(text, "ep", job.ep, 1);
  if (job.ep > 1) add_size(text, "etp", job.etp, job.tp);
  add_size(text, "pp", job.pp, 1);
  add_size(text, "dp", job.dp, 1);
  add_weight_shards(text, job);
  if (!divides_weights(job)) {
    add_size(text, "replicate", job.replicate, 1);
    add_size(text, "zero", job.zero, 0);
  }
  text += fmt::format(", batch {} of {} tokens", job.global_batch, job.sequence);
  add_sample_settings(text, job);
  add_compute_settings(text, job);
  if (!job.straddling.empty())
    text += fmt::format(", {} across NVLink domains", printable(job.straddling));
  if (!job.untried.empty())
    text += fmt::format(", ~{} outside the cluster's record", printable(job.untried));
  return text;
}

std::string job_title(const JobInfo& job, std::uint64_t gpus, const std::string& network) {
  const bool is_type_known = !job.gpu.empty() && job.gpu.find(' ') == std::string::npos;
  std::string text = fmt::format("{} on {} {} ({}{})", library_title(job.model, model_word), gpus,
                                 is_type_known ? library_title(job.gpu, in_capitals)
                                 : gpus == 1   ? "GPU"
                                               : "GPUs",
                                 is_type_known || job.gpu.empty() ? "" : printable(job.gpu) + ", ",
                                 printable(network));
  if (!job.stack.empty()) text += " with " + stack_text(job);
  std::string layout;
  if (!job.tp_by_device.empty())
    layout += fmt::format(", tp {}", printable(job.tp_by_device));
  else
    add_size(layout, "tp", job.tp, 1);
  if (job.sequence_parallel && job.tp > 1) layout += " + sp";
  add_size(layout, "cp", job.cp, 1);
  add_size(layout, "ep", job.ep, 1);
  if (job.ep > 1) add_size(layout, "etp", job.etp, job.tp);
  add_size(layout, "pp", job.pp, 1);
  add_size(layout, "dp", job.dp, 1);
  add_weight_shards(layout, job);
  if (!divides_weights(job)) {
    if (job.zero > 0) layout += fmt::format("{}ZeRO-{}", job.dp > 1 ? " + " : ", ", job.zero);
    add_size(layout, "replicate", job.replicate, 1);
  }
  layout += fmt::format(", batch {} x {}", job.global_batch, job.sequence);
  add_sample_settings(layout, job);
  add_compute_settings(layout, job);
  return text + ": " + layout.substr(part_separator.size());
}

JobParts split_jobs(const std::vector<std::string>& jobs) {
  std::vector<std::vector<std::string_view>> parts;
  for (const std::string& job : jobs) parts.push_back(parts_of_job(job));
  const auto joined = [&](std::vector<std::string_view> job, bool is_common) {
    std::erase_if(job, [&](std::string_view part) {
      return is_common != std::ranges::all_of(parts, [&](const auto& job_parts) {
               return std::ranges::count(job_parts, part) > 0;
             });
    });
    return printable(fmt::format("{}", fmt::join(job, part_separator)));
  };
  JobParts split;
  if (!parts.empty()) split.common = joined(parts.front(), true);
  for (const auto& job : parts) split.own.push_back(joined(job, false));
  return split;
}

}  // namespace pipewright::analysis
