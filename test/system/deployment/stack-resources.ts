import { z } from 'zod';
import type { JsonObject } from '../../../lib/base/json.js';
import type { Template } from './cloud-assembly.js';
import { type Names, resolve } from './intrinsics.js';

/** Types without an effect on a deployment here, and why. */
const withoutEffect: ReadonlyMap<string, string> = new Map([
  ['AWS::CloudWatch::Alarm', 'nothing keeps the metrics that it would watch'],
  ['AWS::CloudWatch::Dashboard', 'it shows metrics to people'],
]);

export interface Resource<Properties> {
  readonly logicalId: string;
  readonly properties: Properties;
}

/** The resources of a template; the part that implements a type takes its resources. */
export class StackResources {
  readonly #left = new Map<string, { readonly type: string; readonly properties: JsonObject }>();

  /** Resolves everything that the template refers to. */
  constructor(template: Template, names: Names) {
    for (const [logicalId, { Type: type, Properties: properties = {} }] of Object.entries(template.Resources)) {
      const resolved = resolve(properties, names) as JsonObject;
      if (!withoutEffect.has(type)) this.#left.set(logicalId, { type, properties: resolved });
    }
  }

  /**
   * Takes all resources of a type. @throws Error that names a resource and its property that `schema` does not accept
   */
  take<Properties>(type: string, schema: z.ZodType<Properties>): readonly Resource<Properties>[] {
    const taken = [...this.#left].filter(([, resource]) => resource.type === type);
    return taken.map(([logicalId, { properties }]) => {
      this.#left.delete(logicalId);
      const parsed = schema.safeParse(properties);
      if (!parsed.success) throw new Error(`${logicalId} has what is not known here\n${z.prettifyError(parsed.error)}`);
      return { logicalId, properties: parsed.data };
    });
  }

  /** Checks that all resources were taken. @throws Error that names the others */
  expectAllTaken(): void {
    const left = [...this.#left].map(([logicalId, { type }]) => `${logicalId} (${type})`);
    if (left.length > 0) throw new Error(`nothing here stands for ${left.join(', ')}`);
  }
}

/** A property without an effect here. */
export const ignored = z.unknown().optional();
