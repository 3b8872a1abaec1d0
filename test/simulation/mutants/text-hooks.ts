import { testsIn, type Mutant } from './mutant.js';

const pass = 'lib/operations/turn/pass.ts';
const hooking = (test: string) => testsIn('test/engine/serve/text-hooks.test.ts', `serve.text ${test}`);

export const textHooksMutants: readonly Mutant[] = [
  {
    name: 'text-recorded-as-said',
    rule: 'what is recorded went through the hook',
    file: pass,
    edits: [
      { find: 'const all = [...events, ...told];', replace: 'const all = [...events, ...requested, ...derived];' },
    ],
    caughtBy: hooking('is asked for every text'),
  },
  {
    name: 'text-shown-after-a-throw',
    rule: 'a hook that throws lets nothing out',
    file: 'lib/operations/turn/tell-caller.ts',
    edits: [
      {
        find: "return { events: [], outcome: { status: 'failed', error } };",
        replace: "return { events: said.events, outcome: said.outcome ?? { status: 'failed', error } };",
      },
    ],
    caughtBy: hooking('that throws at '),
  },
  {
    name: 'text-heard-as-sent',
    rule: 'a workflow hears what the hook returned',
    file: 'lib/operations/serve/start-task.ts',
    edits: [{ find: 'const start = await heardStart(deps, sent, runId);', replace: 'const start = sent;' }],
    caughtBy: hooking('is asked for what comes in'),
  },
];
