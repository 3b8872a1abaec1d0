import { defined } from '../base/defined.js';
import { join, resolve } from 'node:path';
import { checkedPublicUrl, readManagementToken, readPayloadKeySources } from '../topology/env.js';
import { createPayloadCipher } from '../aws/keys.js';
import { loadApp } from '../aws/load-app.js';
import { systemClock } from '../process/system.js';
import type { EngineError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { EventBus } from '../bus/event-bus.js';
import { startLocalEngine } from './engine.js';
import { lockFolder } from './folder-lock.js';
import { openStore, type StoreKind } from './open-store.js';
import { loadTokenKeys, openStateFolder } from './state-folder.js';

export interface DevOptions {
  readonly port: number;
  readonly configFile: string;
  readonly stateFolder: string;
  readonly store?: StoreKind;
  readonly dynamodbEndpoint?: string;
  /** Receives lifecycle events. Default: none. */
  readonly bus?: EventBus;
  /** Origins, beside its own, whose pages may use the API. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** URL under which others reach this machine. Default: its own, which only agents on this machine are given. */
  readonly publicUrl?: string;
  readonly log: Log;
}

export interface Dev {
  /** Line for a person: where local mode listens and which store it uses. */
  readonly ready: string;
  /** Resolves with the reason if local mode cannot continue. */
  readonly lost: Promise<EngineError>;
  stop(): Promise<void>;
}

/**
 * Starts local mode on a folder, and locks the folder for this process.
 * @throws EngineError `CONFIG_INVALID` (configuration, folder or port in use), `STORE_UNAVAILABLE`
 */
export async function startDev(options: DevOptions): Promise<Dev> {
  const { log } = options;
  const managementToken = readManagementToken(process.env);
  const { publicUrl: given } = options;
  const publicUrl = given === undefined ? undefined : checkedPublicUrl(given, '--public-url');
  const folder = resolve(options.stateFolder);
  await openStateFolder(folder);
  await lockFolder(folder);
  const app = await loadApp(options.configFile, join(folder, 'build'));
  const tokens = await loadTokenKeys(folder);
  const cipher = createPayloadCipher(readPayloadKeySources(process.env), systemClock);

  const closers: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    let onLost: (reason: EngineError) => void = () => undefined;
    const lost = new Promise<EngineError>((resolveLost) => {
      onLost = resolveLost;
    });
    const store = await openStore({
      folder,
      log,
      onLost,
      ...defined({ kind: options.store, endpoint: options.dynamodbEndpoint }),
    });
    closers.push(() => store.close());
    const engine = await startLocalEngine({
      app,
      table: store.table,
      tokens,
      ...defined({ cipher, bus: options.bus }),
      log,
      port: options.port,
      checksCode: true,
      ...defined({ managementToken, allowedOrigins: options.allowedOrigins, publicUrl }),
    });
    closers.push(() => engine.stop());
    return { ready: `outwait dev ready at ${engine.url} (store: ${store.description})`, lost, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
