import { defined } from '../base/defined.js';
import type { Context } from 'hono';
import type { Deps } from '../operations/deps.js';
import { answerInput } from '../operations/requests/answer-input.js';
import { listInputs } from '../operations/views/list-inputs.js';
import { showInput } from '../operations/views/show-input.js';
import { parseQuery } from './parse.js';
import { json } from './problem.js';
import { bodyIn, noQueryIn, queryOf } from './request-parts.js';
import { answerBody, inputsQuery } from './requests.js';

// Handlers of the routes for people who answer what runs ask.

export async function list(deps: Deps, context: Context): Promise<Response> {
  const { limit, ...page } = parseQuery(inputsQuery, queryOf(context));
  return json(200, await listInputs(deps, { limit, ...defined(page) }));
}

export async function show(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  return json(200, await showInput(deps, inputIdIn(context)));
}

export async function answer(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const body = await bodyIn(context, answerBody);
  const answer =
    body.action === 'accept' ? { action: body.action, ...defined({ content: body.content }) } : { action: body.action };
  return json(200, await answerInput(deps, inputIdIn(context), answer));
}

function inputIdIn(context: Context): string {
  return context.req.param('inputId') ?? '';
}
