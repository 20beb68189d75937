import * as testing from '@sluice/core/testing';
import { simulated } from './simulate.mjs';

console.log(JSON.stringify(await simulated(testing)));
