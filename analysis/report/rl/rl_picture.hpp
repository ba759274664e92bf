#pragma once

#include <string>

#include "analysis/report/palette.hpp"
#include "analysis/report/rl/rl_report.hpp"

// Pictures of a loop of reinforcement learning. Widths are in points; each function returns the
// bytes of the file.
namespace pipewright::analysis {

// Draws what each pool of GPUs does during a few steps: the trainer's phases, and the engines that
// generate with the responses that they hold, whose decline is the tail of long responses.
std::string rl_picture(const RlReport& report, double width, PictureKind kind);

// Draws the time of a step as simulated and with each change.
std::string rl_changes_picture(const RlReport& report, double width, PictureKind kind);

// Draws the time of a step as a function of the training GPUs. The report must have splits.
std::string rl_splits_picture(const RlReport& report, double width, PictureKind kind);

}  // namespace pipewright::analysis
