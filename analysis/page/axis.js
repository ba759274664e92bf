// The time axis above all panels.

const AXIS_HEIGHT = 26;

function ticksOfView(view, perSecond) {
  const most = Math.max(2, Math.floor(view.width / 90));
  return timeTicks(view.from / perSecond, view.to / perSecond, most);
}

function drawAxis(canvas, view, ticks, unit, perSecond, theme) {
  const width = view.left + view.width + RIGHT_MARGIN;
  const scale = sizeCanvas(canvas, width, AXIS_HEIGHT);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = `12px ${FONT}`;
  context.textBaseline = "alphabetic";
  context.fillStyle = theme.faint;
  context.textAlign = "left";
  context.fillText(`time (${unit})`, 0, 15);
  context.textAlign = "center";
  context.fillStyle = theme.ink;
  context.fillRect(view.left, AXIS_HEIGHT - 1, view.width, 1);
  for (const tick of ticks) {
    const x = view.x(tick.seconds * perSecond);
    context.fillRect(Math.round(x), AXIS_HEIGHT - 6, 1, 6);
    const half = context.measureText(tick.label).width / 2;
    context.fillText(tick.label, Math.min(x, width - half), 15);
  }
}
