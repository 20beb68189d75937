// Helpers for the tests of users of the package.

import '@sluice/core';
import { x } from './core.js';
import { use } from './engine/engine.js';

// Built, this file has views of its own of the module that the entry has made, and which is begun.
use(() => ({ exports: { ...x, _initialize: undefined } }), undefined as never);

export { type EvaluateOptions, evaluate } from './testing/evaluate.js';
export { type Event, EventError, type Time } from './testing/events.js';
export type {
  ClientResult,
  Distribution,
  Fault,
  Latency,
  Scenario,
  ScenarioClient,
  ScenarioService,
  ServiceResult,
  SimulationResult,
  SimulationVerdict,
  Values,
} from './testing/scenario.js';
export { ScenarioError, type SimulateOptions, simulate } from './testing/simulate.js';
export { RequirementError, Simulation } from './testing/simulation.js';
export { type VirtualClock, virtualClock } from './testing/virtual-clock.js';
export type { LogDecision } from './tracing/decision.js';
