#include "analysis/timeline/drawing.hpp"

#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "analysis/timeline/canvas.hpp"
#include "analysis/timeline/layout.hpp"
#include "analysis/timeline/legend.hpp"
#include "analysis/timeline/panel.hpp"
#include "analysis/timeline/titles.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

void draw_axis(Canvas& canvas, const Layout& layout) {
  const double y = layout.axis_top;
  for (const Tick& tick : layout.ticks.ticks) {
    const double x = layout.left + tick.s * layout.units_per_s;
    canvas.line(x, y, x, y + 4, ink, 0.7);
    canvas.text(x, y + 15, tick.label, {.size = 10, .align = Align::centre});
  }
  canvas.line(layout.left, y, layout.right, y, ink, 0.7);
  canvas.text((layout.left + layout.right) / 2, y + 31, fmt::format("time ({})", layout.ticks.unit),
              {.size = 10.5, .align = Align::centre});
}

}  // namespace

void draw_timeline(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                   PictureKind kind) {
  if (runs.empty()) throw std::logic_error("a picture of no runs");
  std::vector<Summary> summaries;
  for (const trace::Trace& run : runs) summaries.push_back(summarize(run));
  const std::vector<RunTitle> titles = run_titles(summaries);
  const Layout layout = lay_out(runs, summaries);

  Canvas canvas(kind, layout.width, layout.height);
  draw_legend(canvas, layout.legend);
  for (std::size_t i = 0; i < runs.size(); ++i)
    draw_panel(canvas, layout, layout.panels[i], runs[i], titles[i], summaries[i].makespan_s);
  draw_axis(canvas, layout);
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
