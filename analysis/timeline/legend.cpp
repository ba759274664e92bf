#include "analysis/timeline/legend.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/palette.hpp"

namespace pipewright::analysis {
namespace {

constexpr double swatch_width = 22;
constexpr double swatch_height = 11;
constexpr double gap = 6;
constexpr double next = 20;  // from one entry to the following
constexpr std::uint32_t most_shades = 8;
constexpr TextStyle style_of_words{.size = 10.5};

// A swatch, one field a chunk; of many chunks only some.
double draw_swatch(Canvas& canvas, double x, double top, trace::PassKind kind,
                   std::uint32_t chunks) {
  const std::uint32_t shades = std::min(chunks, most_shades);
  const double width = shades == 1 ? swatch_width : std::max(swatch_width, 9.0 * shades);
  for (std::uint32_t i = 0; i < shades; ++i) {
    canvas.rectangle(x + width * i / shades, top, x + width * (i + 1) / shades,
                     top + swatch_height);
    canvas.fill(pass_colour(kind, i, shades));
  }
  return width;
}

// Of the traffic that it is.
const ComponentStyle& collective_style(trace::CollectiveKind kind) {
  switch (kind) {
    case trace::CollectiveKind::gather_weights:
      return traffic_styles[static_cast<std::size_t>(trace::TrafficClass::gather_weights)];
    case trace::CollectiveKind::tie_embeddings:
      return traffic_styles[static_cast<std::size_t>(trace::TrafficClass::tie_embeddings)];
    default:
      return traffic_styles[static_cast<std::size_t>(trace::TrafficClass::reduce_gradients)];
  }
}

}  // namespace

Colour optimizer_colour() {
  return memory_styles[static_cast<std::size_t>(trace::MemoryCategory::optimizer)].colour;
}

Colour collective_colour(trace::CollectiveKind kind) { return collective_style(kind).colour; }

void draw_legend(Canvas& canvas, const LegendContent& legend) {
  double x = legend.left;
  double baseline = legend.baseline;
  const double top = baseline - swatch_height + 1.5;
  const auto frame_and_words = [&](double width, const std::string& words) {
    const double upper = baseline - swatch_height + 1.5;
    canvas.rectangle(x, upper, x + width, upper + swatch_height);
    canvas.outline(faint_ink, 0.5);
    canvas.text(x + width + gap, baseline, words, style_of_words);
    x += width + gap + canvas.text_width(words, style_of_words) + next;
  };

  for (const trace::PassKind kind : legend.kinds) {
    const double width = draw_swatch(canvas, x, top, kind, legend.chunks);
    frame_and_words(width, fmt::format("{} ({})", style(kind).words, style(kind).letter));
  }
  if (legend.blocked_sends) {
    canvas.hatch(x, top, x + swatch_width, top + swatch_height);
    frame_and_words(swatch_width, "blocked by its send");
  }
  canvas.rectangle(x, top, x + swatch_width, top + swatch_height);
  canvas.fill(idle_paint);
  frame_and_words(swatch_width, "idle");
  std::vector<std::string> notes;
  if (legend.numbers) notes.emplace_back("numbers: microbatch");
  if (legend.chunks > 1)
    notes.push_back(fmt::format("dark to light: chunk 0 to {}", legend.chunks - 1));
  if (legend.pairs) notes.emplace_back("one above the other: fused");
  canvas.text(x, legend.baseline, fmt::format("{}", fmt::join(notes, "; ")),
              {.size = 10.5, .colour = faint_ink});

  x = legend.left;
  baseline += 17;
  const auto plain = [&](Colour colour, const char* words) {
    const double upper = baseline - swatch_height + 1.5;
    canvas.rectangle(x, upper, x + swatch_width, upper + swatch_height);
    canvas.fill(colour);
    frame_and_words(swatch_width, words);
  };
  for (const trace::CollectiveKind kind : legend.collectives)
    plain(collective_colour(kind), collective_style(kind).words);
  if (legend.steps) plain(optimizer_colour(), "optimizer step");
}

}  // namespace pipewright::analysis
