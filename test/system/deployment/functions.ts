import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { CloudAssembly } from './cloud-assembly.js';
import { type Identities, plainName } from './identities.js';
import { ignored, type StackResources } from './stack-resources.js';

const functionProperties = z.strictObject({
  Code: z.strictObject({ S3Bucket: z.string(), S3Key: z.string() }),
  Environment: z.strictObject({ Variables: z.record(z.string(), z.string()) }),
  Handler: z.string(),
  LoggingConfig: z.strictObject({ LogGroup: z.string() }),
  MemorySize: z.int(),
  Role: z.string(),
  // The newest version, and a processor of its own; here functions run on that of the tests.
  Runtime: z.templateLiteral(['nodejs', z.string()]),
  Architectures: ignored,
  // Chains of messages that lead to one another are not counted here.
  RecursiveLoop: ignored,
  Timeout: z.int(),
});

const versionProperties = z.strictObject({ FunctionName: z.string() });
const aliasProperties = z.strictObject({
  FunctionName: z.string(),
  FunctionVersion: z.string(),
  Name: z.string(),
});

export interface FunctionSpec {
  /** Name in the code, such as `TurnFunction`. */
  readonly name: string;
  readonly functionName: string;
  readonly arn: string;
  /** References by which events reach it: its name, its ARN, and those of its aliases. */
  readonly references: readonly string[];
  /** The number of a published version, or `$LATEST`. */
  readonly version: string;
  readonly roleArn: string;
  readonly logGroup: string;
  readonly folder: string;
  readonly file: string;
  readonly handlerName: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryMb: number;
  readonly timeoutMs: number;
}

/** Returns the functions of a template, each with the unpacked asset that is its code. */
export function functionsOf(
  resources: StackResources,
  identities: Identities,
  assembly: CloudAssembly,
): readonly FunctionSpec[] {
  const versions = resources.take('AWS::Lambda::Version', versionProperties).map(({ logicalId, properties }) => ({
    functionName: properties.FunctionName,
    version: identities.attribute(logicalId, 'Version'),
  }));
  const aliases = resources.take('AWS::Lambda::Alias', aliasProperties).map(({ logicalId, properties }) => ({
    functionName: properties.FunctionName,
    references: [identities.ref(logicalId), `${properties.FunctionName}:${properties.Name}`],
  }));
  return resources.take('AWS::Lambda::Function', functionProperties).map(({ logicalId, properties }) => {
    const { Code: code, Handler: handler } = properties;
    const functionName = identities.ref(logicalId);
    const arn = identities.attribute(logicalId, 'Arn');
    const ofThis = (other: { readonly functionName: string }): boolean => other.functionName === functionName;
    const folder = assembly.folderOf(code.S3Bucket, code.S3Key);
    const [module = '', handlerName = ''] = handler.split('.');
    const file = ['js', 'mjs', 'cjs'].map((end) => join(folder, `${module}.${end}`)).find((path) => existsSync(path));
    if (file === undefined) throw new Error(`${logicalId} has no module ${module}`);
    return {
      name: plainName(logicalId),
      functionName,
      arn,
      references: [functionName, arn, ...aliases.filter(ofThis).flatMap((alias) => alias.references)],
      version: versions.find(ofThis)?.version ?? '$LATEST',
      roleArn: properties.Role,
      logGroup: properties.LoggingConfig.LogGroup,
      folder,
      file,
      handlerName,
      environment: properties.Environment.Variables,
      memoryMb: properties.MemorySize,
      timeoutMs: properties.Timeout * 1_000,
    };
  });
}
