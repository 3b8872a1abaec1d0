import type { OpenStream } from './open-streams.js';
import type { PushConfigs } from './push-configs.js';
import type { Tasks } from './tasks.js';

/** What a caller reaches at an endpoint. */
export interface Admitted {
  readonly tasks: Tasks;
  readonly pushConfigs?: PushConfigs | undefined;
  /** Default: as many streams may be open as come. */
  readonly openStream?: OpenStream | undefined;
}
