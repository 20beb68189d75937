// The page of a report: its lanes, and what was decided at the cursor.

import { entry } from "./decisions.js";
import { duration, element } from "./format.js";
import { Lanes } from "./lanes.js";

const data = JSON.parse(document.getElementById("data").textContent);
const log = document.getElementById("log");
const at = document.getElementById("at");
const hint = document.getElementById("hint");
const clients = data.groups.filter((group) => !group.service);
const byPart = Array.from({ length: data.parts }, () => []);
for (const sample of data.samples) {
  byPart[Math.min(Math.floor(sample.at / data.width), data.parts - 1)].push(sample);
}

/** Shows the decisions of a part, or the first ones for null. */
function showLog(part) {
  const shown = part ?? Math.max(byPart.findIndex((samples) => samples.length > 0), 0);
  const end = Math.min((shown + 1) * data.width, data.duration);
  at.textContent = part === null ? "" : `${duration(shown * data.width)} to ${duration(end)}`;
  hint.textContent = lanes?.pinned
    ? "The cursor is fixed; click again or press Escape to move it."
    : part === null
      ? "Move over the lanes to read values and decisions; click to fix the cursor, drag to zoom, double-click to zoom out."
      : "Click to fix the cursor, drag to zoom.";
  log.replaceChildren(...byPart[shown].map((sample) => entry(sample, clients.length > 1 ? clients[sample.client].name : "")));
  if (byPart[shown].length === 0) log.append(element("li", "state", "no decision in this part was sampled"));
}

/** Shows the decisions at the cursor. The address keeps the time of a fixed one. */
function moved(part) {
  showLog(part);
  const fragment = lanes.pinned ? `#t=${part * data.width}` : "";
  if (location.hash !== fragment) history.replaceState(null, "", fragment || location.pathname + location.search);
}

/** Fixes the cursor at the time of the address, if it has one. */
function goTo() {
  const part = lanes.partAt(Number(/^#t=([0-9.e-]+)$/.exec(location.hash)?.[1] ?? -1));
  if (part !== null) lanes.pin(part);
}

let lanes = null;
showLog(null);
lanes = new Lanes(document.getElementById("lanes"), data, moved);
addEventListener("hashchange", goTo);
goTo();
