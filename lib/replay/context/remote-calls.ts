import { defined } from '../../base/defined.js';
import type { WaitId } from '../../base/ids.js';
import { canonicalJson, utf8Bytes } from '../../base/json.js';
import { checkJsonBytes } from '../../base/json-limit.js';
import type { RemoteClosePolicy } from '../../history/event.js';
import type { AttachCall, RemoteCall, WorkflowContext } from '../../workflow/context.js';
import type { RemoteOutcome } from '../../workflow/outcome.js';
import { callKeyOf } from '../call-key.js';
import type { StartRemoteTask } from '../command.js';
import type { Scope } from '../waits/scope.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';
import { askHeard } from './remote-answers.js';
import {
  argumentsOf,
  callKey,
  closePolicy,
  nameOf,
  remoteTimeoutMs,
  toAttachRequest,
  toRemoteRequest,
} from './remote-request.js';
import { checkResult, typedOutcome } from './parsed.js';
import { restarting } from './restart.js';

/** Inputs of remote calls up to this size are kept in the history for readers; for larger ones only the digest. */
const inputPreviewBytes = 512;

/** Differences between a call and an attachment. */
interface Terms {
  readonly request: StartRemoteTask['request'];
  /** Default of `onCancel` and `onTimeout`. */
  readonly onClose: RemoteClosePolicy;
  readonly retrySafe: boolean;
  readonly key: string | undefined;
  /** Receives the key once the call is made. */
  readonly made?: (keyOf: () => string) => void;
}

/** Creates `ctx.callRemoteTask` and `ctx.attachRemoteTask`. */
export function remoteCalls(
  host: ContextHost,
  scope: Scope,
): Pick<WorkflowContext, 'callRemoteTask' | 'attachRemoteTask'> {
  return {
    callRemoteTask: handled((call: RemoteCall) => {
      let latest: (() => string) | undefined;
      const made = (keyOf: () => string): void => void (latest = keyOf);
      const outcome = restarting(call, (attempt) =>
        remoteTask(host, scope, call, () => {
          checkTurn(host, 'callRemoteTask');
          return {
            request: toRemoteRequest(call),
            onClose: 'cancel',
            retrySafe: call.retrySafe === true,
            key: callKey(call.idempotencyKey, attempt),
            made,
          };
        }),
      );
      host.callKeys.set(outcome, () => latest?.());
      return outcome;
    }) as WorkflowContext['callRemoteTask'],

    attachRemoteTask: handled((call: AttachCall) =>
      remoteTask(host, scope, call, () => {
        checkTurn(host, 'attachRemoteTask');
        // A caller that did not start a task does not stop it, and reading it twice does no harm.
        return { request: toAttachRequest(call), onClose: 'leave', retrySafe: true, key: undefined };
      }),
    ) as WorkflowContext['attachRemoteTask'],
  };
}

/** Requests a remote task and returns its checked outcome. An error of `toTerms` rejects the call. */
async function remoteTask(
  host: ContextHost,
  scope: Scope,
  call: RemoteCall | AttachCall,
  toTerms: () => Terms,
): Promise<RemoteOutcome> {
  const toCommand = commandOf(host, call, toTerms());
  const outcome = await askHeard(host, scope, call, toCommand);
  const { resultSchema, output } = call;
  if (resultSchema !== undefined && !outcome.isError) await checkResult(resultSchema, outcome);
  return output === undefined ? outcome : typedOutcome(output, outcome);
}

function commandOf(
  host: ContextHost,
  call: RemoteCall | AttachCall,
  { request, onClose, retrySafe, key, made }: Terms,
): (waitId: WaitId) => StartRemoteTask {
  const { server, onInput, onProgress } = call;
  const requestText = canonicalJson(request);
  const bytes = utf8Bytes(requestText);
  checkJsonBytes(`the arguments of the call to "${server}" are`, bytes);
  const timeoutMs = remoteTimeoutMs(call.timeout);
  const input = bytes <= inputPreviewBytes ? argumentsOf(request) : undefined;
  const onCancel = closePolicy(call.onCancel, 'onCancel') ?? onClose;
  const onTimeout = closePolicy(call.onTimeout, 'onTimeout') ?? onClose;
  const toCommand = (waitId: WaitId): StartRemoteTask => ({
    kind: 'startRemoteTask',
    waitId,
    server,
    name: nameOf(request),
    request,
    // Includes the key: a call with another key is another call, and would start a second task.
    digest: host.digest(`${server}\n${requestText}${key === undefined ? '' : `\n${key}`}`),
    ...defined({ input }),
    timeoutMs,
    retrySafe,
    ...defined({ key }),
    onCancel,
    onTimeout,
    answersQuestions: onInput !== undefined,
    ...defined({ followsProgress: onProgress === undefined ? undefined : true }),
    watch: call.watch === true,
  });
  return (waitId) => {
    const command = toCommand(waitId);
    made?.(() => callKeyOf(host, host.runId, command));
    return command;
  };
}
