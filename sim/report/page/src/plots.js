// The plots of lanes, as options of uPlot.

import { colour, digits, duration, faint, written } from "./format.js";

/**
 * Returns the plot of a lane: the options and columns for uPlot, the items of its legend as pairs of a class and a name,
 * their values in a part, and their classes there where these change. The time has the centre of each part, their width
 * and the duration of all.
 */
export function plotOf(lane, bands, time) {
  return { lines, stack: lines, heat, states }[lane.form](lane, bands, time);
}

/** Shades the faults behind a plot. */
function shade(u, bands) {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.fillStyle = colour("", "--fault");
  for (const band of bands) {
    const from = u.valToPos(band.from, "x", true);
    ctx.fillRect(from, top, Math.max(u.valToPos(band.to, "x", true) - from, 2 * devicePixelRatio), height);
  }
  ctx.restore();
}

const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const axisWidth = 58;

/** The options that all plots have. */
function common(bands, height, time) {
  return {
    width: 600,
    height,
    padding: [6, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false } },
    // The whole of the data is the whole of the time, whose parts have their values in their middles.
    scales: { x: { time: false, range: (_u, min, max) => (min === time.centre[0] && max === time.centre.at(-1) ? [0, time.duration] : [min, max]) } },
    axes: [
      {
        stroke: () => colour("", "--soft"),
        font,
        size: 24,
        gap: 4,
        grid: { show: false },
        ticks: { show: false },
        incrs: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800],
        values: (_u, splits) => splits.map(duration),
      },
      {
        stroke: () => colour("", "--soft"),
        font,
        size: axisWidth,
        gap: 6,
        grid: { stroke: () => colour("", "--rule"), width: 1 },
        ticks: { show: false },
      },
    ],
    hooks: { drawClear: [(u) => shade(u, bands)] },
  };
}

/** A lane of lines, or of a stack of areas. */
function lines(lane, bands, time) {
  const stacked = lane.form === "stack";
  const own = lane.series;
  const tops = own.map((s) => s.values);
  if (stacked) {
    for (let i = 1; i < tops.length; i++) tops[i] = tops[i].map((v, k) => v + tops[i - 1][k]);
  }
  // An area has all areas below it, too: those are drawn over it.
  const order = own.map((_, i) => (stacked ? own.length - 1 - i : i));
  const options = common(bands, stacked || lane.id === "calls" || lane.id === "latency" ? 150 : 110, time);
  const points = own.every((s) => s.values.filter((v) => v !== null).length < 3);
  options.series = [{}].concat(
    order.map((i) => ({
      stroke: () => (stacked ? "transparent" : colour(own[i].role)),
      fill: () => (stacked ? colour(own[i].role) : own[i].role === "good" || own[i].role === "used" ? faint(colour(own[i].role), 0.13) : undefined),
      width: stacked ? 0 : own[i].role === "offered" || own[i].role === "limit" ? 1.3 : 1.7,
      dash: own[i].role === "limit" || own[i].role === "offered" ? [5, 4] : undefined,
      points: { show: points, size: 4 },
      spanGaps: false,
    })),
  );
  options.scales.y = { range: (_u, _min, max) => [0, max > 0 ? max * 1.06 : 1] };
  options.axes[1].values = (_u, splits) => splits.map((v) => written(v, lane.unit === "s" ? "s" : ""));
  options.axes[1].space = 24;
  return {
    options,
    columns: [time.centre].concat(order.map((i) => tops[i])),
    items: own.map((s) => [s.role, s.name]),
    values: (i) => own.map((s) => written(s.values[i], lane.unit)),
  };
}

/** Returns the places of round durations among the edges of buckets, with their texts. */
function roundMarks(edges) {
  for (const digits of [[1, 2, 5], [1, 3], [1]]) {
    const marks = [];
    for (let power = -9; power < 7; power++) {
      for (const digit of digits) {
        const value = Number(`${digit}e${power}`);
        const i = edges.findLastIndex((edge) => edge <= value);
        if (i >= 0 && i < edges.length - 1) marks.push([i + (value - edges[i]) / (edges[i + 1] - edges[i]), duration(value)]);
      }
    }
    if (marks.length <= 6 || digits.length === 1) return marks;
  }
  return [];
}

/** A lane with the counts of calls by latency. */
function heat(lane, bands, time) {
  const rows = lane.edges.length - 1;
  const most = Math.max(1, ...lane.counts.flatMap((one) => one.filter((_, i) => i % 2 === 1)));
  const options = common(bands, 150, time);
  options.series = [{}, { stroke: "transparent", points: { show: false } }];
  options.cursor.points = { show: false };
  options.scales.y = { range: () => [0, rows] };
  const marks = roundMarks(lane.edges);
  options.axes[1].splits = () => marks.map(([at]) => at);
  options.axes[1].values = () => marks.map(([, text]) => text);
  options.axes[1].filter = (_u, splits) => splits;
  options.hooks.draw = [
    (u) => {
      const { ctx } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      ctx.clip();
      const base = colour("", "--r0");
      lane.counts.forEach((counts, i) => {
        const from = Math.round(u.valToPos(i * time.width, "x", true));
        const to = Math.round(u.valToPos(Math.min((i + 1) * time.width, time.duration), "x", true));
        for (let k = 0; k < counts.length; k += 2) {
          const low = Math.round(u.valToPos(counts[k], "y", true));
          const high = Math.round(u.valToPos(counts[k] + 1, "y", true));
          // By the logarithm: few slow calls are seen beside many fast ones.
          ctx.fillStyle = faint(base, 0.12 + 0.88 * (Math.log2(1 + counts[k + 1]) / Math.log2(1 + most)));
          ctx.fillRect(from, high, Math.max(to - from, 1), low - high);
        }
      });
      ctx.restore();
    },
  ];
  return {
    options,
    columns: [time.centre, time.centre.map(() => null)],
    items: [["used", "calls"], ["used", "most of them take"]],
    values: (i) => {
      let all = 0;
      let top = -1;
      for (let k = 0; k < lane.counts[i].length; k += 2) {
        all += lane.counts[i][k + 1];
        if (top < 0 || lane.counts[i][k + 1] > lane.counts[i][top + 1]) top = k;
      }
      const row = lane.counts[i][top];
      return [digits(all), all ? `${duration(lane.edges[row])} to ${duration(lane.edges[row + 1])}` : "–"];
    },
  };
}

/** A lane with the states of breakers. */
function states(lane, bands, time) {
  const options = common(bands, 34 + 24 * lane.rows.length, time);
  options.series = [{}, { stroke: "transparent", points: { show: false } }];
  options.cursor.points = { show: false };
  options.scales.y = { range: () => [0, lane.rows.length] };
  options.axes[1].splits = () => lane.rows.map((_, i) => lane.rows.length - i - 0.5);
  options.axes[1].values = () => lane.rows.map((row) => (row.name.length > 9 ? `${row.name.slice(0, 8)}…` : row.name));
  options.axes[1].filter = (_u, splits) => splits;
  options.axes[1].grid = { show: false };
  options.hooks.draw = [
    (u) => {
      const { ctx } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      ctx.clip();
      lane.rows.forEach((row, i) => {
        const top = u.valToPos(lane.rows.length - i - 0.15, "y", true);
        const bottom = u.valToPos(lane.rows.length - i - 0.85, "y", true);
        // What is short comes last, so that it is seen.
        const spans = [...row.spans].sort((a, b) => b.to - b.from - (a.to - a.from));
        for (const span of spans) {
          const from = u.valToPos(span.from, "x", true);
          const wide = Math.max(u.valToPos(span.to, "x", true) - from, 2 * devicePixelRatio);
          const own = colour(span.text);
          ctx.fillStyle = span.text === "closed" ? faint(own, 0.5) : own;
          ctx.fillRect(from, top, wide, bottom - top);
        }
      });
      ctx.restore();
    },
  ];
  return {
    options,
    columns: [time.centre, time.centre.map(() => null)],
    items: lane.rows.map((row) => ["closed", row.name]),
    values: (i) => lane.rows.map((row) => row.spans.findLast((s) => s.from <= time.centre[i]).text),
    roles: (i) => lane.rows.map((row) => row.spans.findLast((s) => s.from <= time.centre[i]).text),
  };
}
