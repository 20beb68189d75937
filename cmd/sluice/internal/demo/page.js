"use strict";
// Moves one cursor through all charts and shows the values at its time.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const times = [...document.querySelectorAll("[data-time]")];
  const first = data.charts[0].values[0];
  const count = first.length;
  let at = null;

  const views = plots.map((plot) => {
    const chart = data.charts.find((c) => c.id === plot.dataset.chart);
    const items = [...document.querySelectorAll(`[data-legend="${chart.id}"] li`)];
    const cursor = plot.querySelector(".cursor");
    const dots = chart.stack ? [] : chart.values.map((_, i) => {
      const dot = document.createElement("i");
      dot.className = items[i].querySelector("i").className;
      cursor.append(dot);
      return dot;
    });
    return { plot, chart, items, cursor, dots };
  });

  const written = (value, unit) =>
    value === null ? "–" : (value < 10 && value % 1 ? value.toFixed(1) : Math.round(value)) + unit;

  function show(bin) {
    at = bin;
    const time = bin === null ? "" : `at ${(((bin + 0.5) / count) * data.seconds).toFixed(2)} s`;
    for (const output of times) output.textContent = time;
    for (const { chart, items, cursor, dots } of views) {
      cursor.hidden = bin === null;
      cursor.style.left = bin === null ? "" : `${((bin + 0.5) / count) * 100}%`;
      chart.values.forEach((values, i) => {
        const value = bin === null ? null : values[bin];
        items[i].querySelector("b").textContent = bin === null ? "" : written(value, chart.unit);
        if (!dots[i]) return;
        dots[i].hidden = value === null;
        dots[i].style.bottom = `${((value ?? 0) / chart.top) * 100}%`;
      });
    }
  }

  for (const plot of plots) {
    const follow = (event) => {
      const box = plot.getBoundingClientRect();
      const bin = Math.floor(((event.clientX - box.left) / box.width) * count);
      show(Math.min(Math.max(bin, 0), count - 1));
    };
    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", () => show(null));
    plot.addEventListener("blur", () => show(null));
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") show(null);
      if (!step) return;
      event.preventDefault();
      show(at === null ? (step > 0 ? 0 : count - 1) : Math.min(Math.max(at + step, 0), count - 1));
    });
  }
})();
