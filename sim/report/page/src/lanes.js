// The lanes of a result over one axis of time, with one cursor.

import uPlot from "uplot";
import { duration, element } from "./format.js";
import { plotOf } from "./plots.js";

/** How many faults are named above the lanes. */
const namedFaults = 8;

/** The lanes of a result in an element of a page. */
export class Lanes {
  /** The part under the cursor, null for none. */
  part = null;
  /** Whether the cursor stays there. */
  pinned = false;
  #data;
  #time;
  #lanes = []; // {plot, frame, show}
  #onMove;
  #busy = false; // all plots are being changed
  #ends = new AbortController();

  /**
   * Draws the data, which is what lanes.DataOf of Go encodes, in root. onMove is called with the part whenever the cursor
   * has moved, was fixed or was freed.
   */
  constructor(root, data, onMove) {
    this.#data = data;
    this.#onMove = onMove;
    const centre = Array.from({ length: data.parts }, (_, i) => (i * data.width + Math.min((i + 1) * data.width, data.duration)) / 2);
    this.#time = { centre, width: data.width, duration: data.duration };
    for (const group of data.groups) this.#addGroup(root, group);
    const { signal } = this.#ends;
    root.addEventListener("keydown", (event) => this.#key(event), { signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener(
      "change",
      () => {
        for (const { plot } of this.#lanes) plot.redraw(false, true);
      },
      { signal },
    );
    const resize = new ResizeObserver(() => {
      for (const { plot, frame } of this.#lanes) {
        if (frame.clientWidth > 0 && frame.clientWidth !== plot.width) plot.setSize({ width: frame.clientWidth, height: plot.height });
      }
    });
    resize.observe(root);
    signal.addEventListener("abort", () => resize.disconnect());
  }

  /** Removes all plots and listeners. */
  destroy() {
    this.#ends.abort();
    for (const { plot } of this.#lanes) plot.destroy();
  }

  /** Moves the cursor of all lanes to a part, null for none. */
  move(part) {
    if (part === this.part) return;
    this.part = part;
    this.#all(({ plot, show }) => {
      this.#place(plot);
      show(part);
    });
    this.#onMove(part);
  }

  /** Fixes the cursor at a part, or frees it for null. */
  pin(part) {
    this.pinned = false;
    if (part !== null) this.move(part);
    this.pinned = part !== null;
    this.#onMove(this.part);
  }

  /** Returns the part at a time in seconds, null outside. */
  partAt(seconds) {
    if (!(seconds >= 0 && seconds <= this.#data.duration)) return null;
    return Math.min(Math.floor(seconds / this.#data.width + 1e-9), this.#data.parts - 1);
  }

  #addGroup(root, group) {
    const name = group.service ? `service ${group.name}` : `client ${group.name}`;
    root.append(element("h2", "", name, group.to ? element("small", "", `calls ${group.to}`) : ""));
    if (group.bands.length > 0) {
      const faults = group.bands.slice(0, namedFaults).map((band) => {
        const when = band.to > band.from ? `${duration(band.from)} to ${duration(band.to)}` : `at ${duration(band.from)}`;
        return element("span", "", element("i"), `${when}: ${band.text}`);
      });
      const more = group.bands.length - namedFaults;
      if (more > 0) faults.push(element("span", "", `and ${more} more`));
      root.append(element("p", "faults", ...faults));
    }
    for (const lane of group.lanes) this.#addLane(root, lane, group.bands);
  }

  #addLane(root, lane, bands) {
    const { options, columns, items: names, values, roles } = plotOf(lane, bands, this.#time);
    const items = names.map(([role, name]) => element("li", "", element("i", role), name, element("b")));
    const title = lane.title + (lane.unit === "/s" ? " a second" : "");
    const frame = element("div", "plot");
    const card = element("section", "card lane", element("div", "top", element("h3", "", title), element("ul", "legend", ...items)), frame);
    card.dataset.lane = lane.id;
    root.append(card);
    options.width = Math.max(frame.clientWidth, 200);
    Object.assign(options.hooks, {
      setCursor: [(u) => this.#follow(u)],
      setScale: [(u, key) => key === "x" && this.#zoom(u)],
      ready: [(u) => u.over.addEventListener("click", () => this.pin(this.pinned ? null : (u.cursor.idx ?? null)))],
    });
    const show = (part) => {
      items.forEach((item, i) => {
        item.querySelector("b").textContent = part === null ? "" : values(part)[i];
        if (roles) item.querySelector("i").className = part === null ? names[i][0] : roles(part)[i];
      });
    };
    this.#lanes.push({ plot: new uPlot(options, columns, frame), frame, show });
  }

  /** Changes all lanes without following their cursors. */
  #all(change) {
    const before = this.#busy;
    this.#busy = true;
    for (const lane of this.#lanes) change(lane);
    this.#busy = before;
  }

  /** Sets the cursor of a plot to the part. */
  #place(plot) {
    plot.setCursor(this.part === null ? { left: -10, top: -10 } : { left: plot.valToPos(this.#time.centre[this.part], "x"), top: 10 });
  }

  /** Moves all cursors to where the pointer is, or the cursor of its plot back where they are fixed. */
  #follow(plot) {
    if (this.#busy) return;
    if (!this.pinned) {
      this.move(plot.cursor.left < 0 ? null : (plot.cursor.idx ?? null));
      return;
    }
    this.#busy = true;
    this.#place(plot);
    this.#busy = false;
  }

  /** Shows the time that one plot shows in all of them. */
  #zoom(from) {
    const { min, max } = from.scales.x;
    if (this.#busy || min === null) return;
    this.#all(({ plot }) => plot !== from && plot.setScale("x", { min, max }));
  }

  #key(event) {
    const last = this.#data.parts - 1;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (event.key === "Escape") {
      this.pin(null);
      this.move(null);
    }
    if (event.key === "Enter") this.pin(this.pinned ? null : this.part);
    if (!step) return;
    event.preventDefault();
    if (this.pinned) this.pin(null);
    this.move(this.part === null ? (step > 0 ? 0 : last) : Math.min(Math.max(this.part + step, 0), last));
  }
}
