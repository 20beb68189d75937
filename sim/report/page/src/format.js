// What all parts of the page use: elements, numbers for people and the colours of the style sheet.

/** Returns a new element with the class and the children. */
export function element(name, className, ...children) {
  const one = document.createElement(name);
  if (className) one.className = className;
  one.append(...children);
  return one;
}

/** Writes a number with three digits. */
export const digits = (x) => {
  if (x >= 100 || Number.isInteger(x)) return Math.round(x).toLocaleString("en-US");
  return String(Number(x.toPrecision(3)));
};

/** Writes seconds with three digits, from a minute on in whole seconds. */
export function duration(s) {
  if (s === 0) return "0s";
  if (s < 1e-6) return `${digits(s * 1e9)}ns`;
  if (s < 1e-3) return `${digits(s * 1e6)}µs`;
  if (s < 1) return `${digits(s * 1e3)}ms`;
  if (s < 60) return `${digits(s)}s`;
  const whole = Math.round(s);
  const parts = [[Math.floor(whole / 3600), "h"], [Math.floor(whole / 60) % 60, "m"], [whole % 60, "s"]];
  return parts.filter(([n]) => n > 0).map(([n, unit]) => n + unit).join("");
}

/** Writes a value of a unit, a dash for none. */
export const written = (value, unit) =>
  value === null || value === undefined ? "–" : unit === "s" ? duration(value) : digits(value) + unit;

// A hidden element of each class has its colour, light or dark.
const probes = new Map();

/** Returns the colour of a class, or another variable there. */
export function colour(role, variable = "--own") {
  if (!probes.has(role)) {
    const probe = element("i", role);
    probe.hidden = true;
    document.body.append(probe);
    probes.set(role, getComputedStyle(probe));
  }
  return probes.get(role).getPropertyValue(variable).trim();
}

/** Adds transparency to a colour of the form #rrggbb. */
export const faint = (hex, share) => hex.slice(0, 7) + Math.round(share * 255).toString(16).padStart(2, "0");
