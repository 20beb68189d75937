// The sampled decisions, for people.

import { element } from "./format.js";

/** A line of the decision log for people, with its call where the event is of another one. */
function decision(line, call) {
  const { decision: word, at: _at, id, attempt, step, reason, outcome, retry_after: retryAfter, state, ...rest } = line;
  let text = id !== undefined && id !== call ? `call ${id}: ${word}` : word;
  if (attempt !== undefined) text += ` attempt ${attempt}`;
  if (step !== undefined) text += ` ${step}`;
  if (outcome !== undefined) text += ` ${outcome}`;
  if (reason !== undefined) text += `: ${reason}`;
  if (state !== undefined) text += `: ${state}`;
  if (retryAfter !== undefined) text += `, retry after ${retryAfter}`;
  for (const [name, value] of Object.entries(rest)) text += `, ${name} ${value}`;
  const good = word === "end" && outcome === "ok";
  return element("li", word === "reject" || word === "expire" || state === "open" ? "refusal" : good ? "ok" : "", text);
}

/** Returns the item of a sample. client is the name of its client, where there are several. */
export function entry(sample, client) {
  const call = sample.call ? `call ${sample.call}` : "";
  const key = sample.key ? ` of ${sample.key}` : "";
  const alone = sample.call ? "is refused" : "a breaker changes";
  const event = { call: "arrives", time: "time passes", cancel: "is cancelled", undefined: alone }[sample.event] ?? `is answered: ${sample.event}`;
  const subject = [client && `${client}:`, call && call + key, event].filter(Boolean).join(" ");
  const states = sample.states.map(([step, before, after]) =>
    element("li", "state", `${step}: ${before && before !== after ? `${before} → ` : ""}`, element("b", "", after), before === after ? " (no change)" : ""));
  return element("li", "",
    element("div", "event", element("span", "", subject), element("time", "", `${sample.at.toFixed(3)} s`)),
    element("ul", "", ...sample.decisions.map((line) => decision(line, sample.call)), ...states));
}
