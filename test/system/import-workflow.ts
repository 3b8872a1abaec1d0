import { defineWorkflow } from '../../lib/workflow/define-workflow.js';

/** A long step that reports progress and then hangs; an attempt that receives progress returns it. */
export const importWorkflow = defineWorkflow({
  name: 'import',
  run: (ctx) =>
    ctx.step(
      'import',
      ({ attempt, progress, report }) => {
        if (progress !== undefined) return { attempt, progress };
        report({ row: 7 });
        return new Promise(() => undefined);
      },
      { long: true },
    ),
});
