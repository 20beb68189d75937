import { createServer } from 'node:http';
import * as core from '@sluice/core';
import * as express from '@sluice/core/express';
import * as fastify from '@sluice/core/fastify';
import * as handlers from '@sluice/core/fetch';
import * as hono from '@sluice/core/hono';
import * as koa from '@sluice/core/koa';
import * as opentelemetry from '@sluice/core/opentelemetry';
import * as yaml from '@sluice/core/yaml';
import installedExpress from 'express';
import installedFastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { frameworks } from './frameworks.mjs';

const entries = { core, express, fastify, koa, hono, fetch: handlers, opentelemetry, yaml };
const installed = { createServer, express: installedExpress, fastify: installedFastify, Hono, Koa };
console.log(JSON.stringify(await frameworks(entries, installed)));
