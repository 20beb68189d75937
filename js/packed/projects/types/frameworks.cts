// The same for CommonJS.

import core = require('@sluice/core');
import forFetch = require('@sluice/core/fetch');
import yaml = require('@sluice/core/yaml');

const calls: core.Pipeline = core.policy(yaml.parse('steps: []'));
export const handler = forFetch.guard(calls, () => new Response('ok'));
