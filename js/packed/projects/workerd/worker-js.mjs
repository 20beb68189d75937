import * as core from '@sluice/core/js';
import * as testing from '@sluice/core/js/testing';
import { answering } from './answers.mjs';

export default answering(core, testing);
