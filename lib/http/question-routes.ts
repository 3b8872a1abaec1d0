import { defined } from '../base/defined.js';
import type { Context } from 'hono';
import type { Deps } from '../operations/deps.js';
import { answerQuestion } from '../operations/requests/answer-question.js';
import { listQuestions } from '../operations/views/list-questions.js';
import { showQuestion } from '../operations/views/show-question.js';
import { parseQuery } from './parse.js';
import { json } from './problem.js';
import { bodyIn, noQueryIn, queryOf } from './request-parts.js';
import { answerBody, inputsQuery } from './requests.js';

// Handlers of the routes for people who answer questions of runs.

export async function list(deps: Deps, context: Context): Promise<Response> {
  const { limit, ...page } = parseQuery(inputsQuery, queryOf(context));
  return json(200, await listQuestions(deps, { limit, ...defined(page) }));
}

export async function show(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  return json(200, await showQuestion(deps, inputIdIn(context)));
}

export async function answer(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const body = await bodyIn(context, answerBody);
  const answer =
    body.action === 'accept' ? { action: body.action, ...defined({ content: body.content }) } : { action: body.action };
  return json(200, await answerQuestion(deps, inputIdIn(context), answer));
}

function inputIdIn(context: Context): string {
  return context.req.param('inputId') ?? '';
}
