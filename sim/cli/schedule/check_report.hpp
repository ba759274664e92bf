#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/text/torch_check.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_receives.hpp"

// What `pipewright schedule check` prints.
namespace pipewright::cli {

// What one order of receives costs.
struct Finding {
  std::string_view receives;
  schedules::ReceiveTiming ordered;
  double best = 0;                      // makespan where each pass waits for its own tensor alone
  std::optional<schedules::Swap> swap;  // NCCL would swap tensors

  double lost() const { return ordered.makespan - best; }
};

// What times are counted in. Where none are given, F, I and W take a cell of every stage, B two.
enum class TimeUnit { cell, second };

struct CheckReport {
  std::string path;
  schedules::TorchFile file;
  TimeUnit unit = TimeUnit::cell;
  std::vector<Finding> findings;
};

void print_text(const CheckReport& report);
void print_json(const CheckReport& report);

// Of a file that is not sound.
void print_unsound_json(const std::string& path, std::string_view why);

}  // namespace pipewright::cli
