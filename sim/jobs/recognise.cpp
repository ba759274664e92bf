#include "sim/jobs/recognise.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sim/jobs/megatron/megatron.hpp"

namespace pipewright::jobs {
namespace {

// Without comments of shells, YAML, TOML and Python.
std::string without_comments(const std::string& text) {
  std::string plain;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
        line.resize(i);
        break;
      }
    plain += line + "\n";
    at = end + 1;
  }
  return plain;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// Flags of Megatron-LM, which are not YAML's "---".
int megatron_flags(const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    std::size_t end = at + 2;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > at + 4 && megatron::knows(flag_name(text.substr(at, end - at)))) ++count;
  }
  return count;
}

std::string extension_of(const std::string& name) {
  return std::filesystem::path(name).extension().string();
}

}  // namespace

std::optional<Kind> kind_of(const Source& source) {
  const std::string text = without_comments(source.text);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  const std::string extension = extension_of(source.name);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && text[first] == '{';
  if (json) {
    if (has("\"train_batch_size\"") || has("\"train_micro_batch_size_per_gpu\"") ||
        has("\"zero_optimization\"") || has("\"gradient_accumulation_steps\""))
      return Kind::deepspeed;
    if (has("parallel_degree\"") || (has("\"parallelism\"") && has("\"training\"")))
      return Kind::torchtitan;
    if (has("\"tensor_model_parallel_size\"")) return Kind::yaml;
    return std::nullopt;
  }
  if (extension == ".toml" || has("[parallelism]") || has("[activation_checkpoint]"))
    return Kind::torchtitan;
  if (has("MODEL_ARGS:")) return Kind::functional_test;
  const bool names = has("tensor_model_parallel_size") || has("micro_batch_size") ||
                     has("global_batch_size") || has("tensor_parallelism");
  if (extension == ".py") return names ? std::optional(Kind::python) : std::nullopt;
  if ((extension == ".yaml" || extension == ".yml") && (names || has("trainer:")))
    return Kind::yaml;
  if (extension == ".yaml" || extension == ".yml" || extension == ".xml") return std::nullopt;
  if (has("TENSOR_MODEL_PARALLEL=") || has("export DGXNNODES=") || has("export MINIBS="))
    return Kind::mlperf;
  if (has("model.") && names && has("=")) return Kind::overrides;
  constexpr int enough = 2;
  if (megatron_flags(text) >= enough) return Kind::script;
  return std::nullopt;
}

}  // namespace pipewright::jobs
