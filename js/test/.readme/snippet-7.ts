import { pipeline, rateLimiter } from '@sluice/core';

const calls = pipeline([{ limit: { rate: '50/1m', shadow: true } }]); // decides, enforces nothing
const stop = calls.on('reject', ({ step, reason, shadow }) => console.log(step, reason, shadow));
stop();

const limiter = rateLimiter('1000/1h');
const saved = JSON.stringify(limiter.snapshot()); // to any storage
limiter.restore(JSON.parse(saved)); // the time between counts as passed
