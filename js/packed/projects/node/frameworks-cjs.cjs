const { createServer } = require('node:http');
const core = require('@sluice/core');
const { Hono } = require('hono');
const Koa = require('koa');

const names = ['express', 'fastify', 'koa', 'hono', 'fetch', 'opentelemetry', 'yaml'];
const entries = Object.fromEntries(names.map((name) => [name, require(`@sluice/core/${name}`)]));
const installed = { createServer, express: require('express'), fastify: require('fastify'), Hono, Koa };

import('./frameworks.mjs')
  .then(({ frameworks }) => frameworks({ ...entries, core }, installed))
  .then((report) => console.log(JSON.stringify(report)));
