import type { Settings } from '../settings.js';

/** The maximum is at least the two others, and the initial limit lies between the bounds, where they are left out. */
export function check(s: Settings): void {
  const [initial = 0, minimum = 0, maximum = 0] = ['initial', 'minimum', 'maximum'].map((name) =>
    Number(s.first(name)),
  );
  const most = s.has('maximum') ? maximum : Math.max(maximum, minimum, s.has('initial') ? initial : 0);
  s.set('maximum', most);
  if (!s.has('initial')) s.set('initial', Math.min(Math.max(initial, minimum), most));
}
