#include "analysis/timeline/boxes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipewright::analysis {
namespace {

// The cell of the grid that is being filled with narrow passes, from left to right.
class Blend {
 public:
  Blend(double grain, Colour idle, std::vector<Box>& boxes)
      : grain_(grain), idle_(idle), boxes_(boxes) {}

  void add(double left, double right, Colour colour) {
    while (left < right) {
      const double cell = std::floor(left / grain_);
      if (cell != cell_) flush();
      cell_ = cell;
      // Rounding may put `left` on the end of its own cell.
      const double until =
          std::min(right, std::max((cell + 1) * grain_, std::nextafter(left, right)));
      const double share = (until - left) / grain_;
      sum_ = {sum_.red + colour.red * share, sum_.green + colour.green * share,
              sum_.blue + colour.blue * share};
      covered_ += share;
      left = until;
    }
  }

  void flush() {
    if (covered_ <= 0) return;
    const double idle = std::max(0.0, 1 - covered_);
    const auto channel = [&](double sum, double of_idle) {
      constexpr double levels = 31;  // few enough that neighbours come out equal
      return std::round(std::min(1.0, sum + of_idle * idle) * levels) / levels;
    };
    const Colour colour{channel(sum_.red, idle_.red), channel(sum_.green, idle_.green),
                        channel(sum_.blue, idle_.blue)};
    Box* last = boxes_.empty() ? nullptr : &boxes_.back();
    if (last != nullptr && last->pass == nullptr && last->right == cell_ * grain_ &&
        equal(last->colour, colour))
      last->right = (cell_ + 1) * grain_;
    else
      boxes_.push_back({cell_ * grain_, (cell_ + 1) * grain_, colour, nullptr});
    sum_ = {0, 0, 0};
    covered_ = 0;
  }

 private:
  static bool equal(Colour a, Colour b) {
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
  }

  double grain_;
  Colour idle_;
  std::vector<Box>& boxes_;
  double cell_ = -1;
  double covered_ = 0;
  Colour sum_{0, 0, 0};
};

}  // namespace

std::vector<std::vector<const trace::PassRow*>> passes_by_device(const trace::Trace& trace) {
  std::vector<std::vector<const trace::PassRow*>> devices(trace.devices.size());
  for (const trace::PassRow& pass : trace.passes) devices.at(pass.device).push_back(&pass);
  return devices;
}

std::vector<Box> row_boxes(std::span<const trace::PassRow* const> passes, std::uint32_t chunks,
                           double units_per_s, double grain, Colour idle) {
  std::vector<Box> blends;
  std::vector<Box> wide;
  Blend blend(grain, idle, blends);
  const auto colour_of = [&](const trace::PassRow* pass) {
    return pass_colour(pass->kind, pass->chunk, chunks);
  };
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const trace::PassRow* pass = passes[i];
    const trace::PassRow* fused =
        i + 1 < passes.size() && are_fused(*pass, *passes[i + 1]) ? passes[++i] : nullptr;
    const double left = pass->start * units_per_s;
    const double right = pass->end * units_per_s;
    if (right - left < grain) {
      blend.add(left, right,
                fused == nullptr ? colour_of(pass) : mix(colour_of(pass), colour_of(fused), 0.5));
    } else if (fused == nullptr) {
      wide.push_back({left, right, colour_of(pass), pass});
    } else {
      if (pass->kind != trace::PassKind::forward) std::swap(pass, fused);
      wide.push_back({left, right, colour_of(pass), pass, Part::upper});
      wide.push_back({left, right, colour_of(fused), fused, Part::lower});
    }
  }
  blend.flush();
  // Wide boxes come last: they cover the cells in which they begin and end.
  blends.insert(blends.end(), wide.begin(), wide.end());
  return blends;
}

}  // namespace pipewright::analysis
