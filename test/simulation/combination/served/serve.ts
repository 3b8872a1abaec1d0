import type { WorkflowContext } from '../../../../lib/workflow/context.js';
import type { ServedProgram } from '../program.js';
import type { Telling } from '../telling.js';
import { answeredQuestion } from './conversation.js';

/** Runs a part that talks with the caller. `name`: unique within the run. */
export async function serve(
  ctx: WorkflowContext,
  program: ServedProgram,
  { name, telling }: { readonly name: string; readonly telling: Telling },
): Promise<unknown> {
  switch (program.kind) {
    case 'progress':
      ctx.progress(name);
      return name;
    case 'artifact': {
      const { of: artifactId, append, last: lastChunk } = program;
      ctx.artifact({ artifactId, text: name, append, lastChunk });
      return name;
    }
    case 'askCaller': {
      const message = `${ctx.runId} ${name}`;
      const answer = await ctx.ask({ to: 'caller', message, timeout: { seconds: program.timeout } });
      telling.gotAnswer(message, answer.action === 'accept' ? answeredQuestion(answer.content) : undefined);
      return answer.action;
    }
    case 'message':
      return ctx.race([
        async (inner) => {
          for await (const { messageId } of inner.messages()) {
            telling.gotMessage(messageId);
            return messageId;
          }
          return undefined;
        },
        async (inner) => inner.sleep({ seconds: program.timeout }),
      ]);
    case 'reject':
      return ctx.reject(name);
  }
}
