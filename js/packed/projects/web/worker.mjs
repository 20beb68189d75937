import * as core from '@sluice/core';
import * as testing from '@sluice/core/testing';
import { exercise } from './exercise.mjs';

exercise(core, testing).then((report) => postMessage(report));
