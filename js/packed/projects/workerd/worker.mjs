import * as core from '@sluice/core';
import * as testing from '@sluice/core/testing';
import { answering } from './answers.mjs';

export default answering(core, testing);
