/**
 * Names of properties that no caller and no other program sees: the build makes
 * them short. A test sees to it that no option, no export of the module and
 * nothing of the platform has such a name.
 */
export const NAMES = `
  act admit admitted again arm armed asValue callOf changed controller cut
  cutBy detach drop due emit emitter enter fire first forget give
  given grant granted hand handle handles heap heard hooks layout lazy leases leave left limiters
  make millis numbers options overflow permit place put record
  refund refuse rejection run runner settle common sift sweep taken task tell threw
  end generation idle perform slot stand start withKeys
  ticket timeless timer later trusted guest post posted greet moved ring serve waiters
  tries hedges lose cutTry cutAt nameOf ended newer older listed moved slack newest oldest moves touch
  released whose rename most evicts rest unused evicted spared unknown held
  active alone borrows callNames closed costOf disposed gone hold holders keep obtain settled shown stateless waits
  refused late skips timed judge untilCut whenCut
  hears whole kinds began locate keysOf waiting places reopen stopped turned errorOf queues conclude queuedAt lender refusing byHand inQueue empty idlers
  follow dump finish giveUp prolong live launch known texts spare owner react whom stored most ears waits succeed wake wakes
`
  .trim()
  .split(/\s+/);

/** The names as esbuild wants them. */
export const INTERNAL = new RegExp(`^(${NAMES.join('|')})$`);
