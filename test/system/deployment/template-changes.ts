import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/base/json.js';
import { changed, type CloudAssembly } from './cloud-assembly.js';

/**
 * Returns the stack without the resources that match one of the patterns. @throws Error for a pattern without a match
 */
export function without(assembly: CloudAssembly, ...patterns: readonly RegExp[]): CloudAssembly {
  const ids = Object.keys(assembly.template.Resources);
  for (const pattern of patterns)
    if (!ids.some((id) => pattern.test(id))) throw new Error(`no resource is called like ${pattern.source}`);
  return changed(assembly, (logicalId, resource) =>
    patterns.some((pattern) => pattern.test(logicalId)) ? undefined : resource,
  );
}

/** Returns the stack with these environment variables in each function in place of its own. */
export function withEnvironment(assembly: CloudAssembly, variables: JsonObject): CloudAssembly {
  return changed(assembly, (_, resource) => {
    if (resource.Type !== 'AWS::Lambda::Function') return resource;
    const { Environment: environment } = resource.Properties as {
      readonly Environment: { readonly Variables: JsonObject };
    };
    const Environment = { Variables: { ...environment.Variables, ...variables } };
    return { ...resource, Properties: { ...resource.Properties, Environment } };
  });
}

/** Returns the stack without the first statement of a role that contains `text`. @throws Error if there is none */
export function withoutGrant(assembly: CloudAssembly, role: string, text: string): CloudAssembly {
  let found = 0;
  const kept = changed(assembly, (logicalId, resource) => {
    if (!logicalId.includes(role) || resource.Type !== 'AWS::IAM::Policy') return resource;
    const document = resource.Properties?.['PolicyDocument'];
    if (!isJsonObject(document)) return resource;
    const statements = document['Statement'] as readonly JsonValue[];
    const at = statements.findIndex((statement) => JSON.stringify(statement).includes(text));
    found += at < 0 ? 0 : 1;
    const PolicyDocument = { ...document, Statement: statements.filter((_, index) => index !== at) };
    return { ...resource, Properties: { ...resource.Properties, PolicyDocument } };
  });
  if (found === 0) throw new Error(`${role} has no statement with ${text}`);
  return kept;
}
