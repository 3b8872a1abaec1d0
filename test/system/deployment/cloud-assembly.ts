import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../../lib/base/json.js';
import { account } from './account.js';

export interface Template {
  readonly Resources: Readonly<Record<string, TemplateResource>>;
  readonly Parameters?: Readonly<Record<string, { readonly Default: string }>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: JsonValue }>>;
}

export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: JsonObject;
}

/** What `cdk synth` leaves in its output folder, as far as a deployment needs it. */
export interface CloudAssembly {
  readonly template: Template;
  /** The folder whose files CDK would upload as this object. @throws Error when it would upload none there */
  folderOf(bucket: string, key: string): string;
}

interface AssetManifest {
  readonly files: Readonly<Record<string, FileAsset>>;
}

interface FileAsset {
  readonly source: { readonly path: string; readonly packaging: 'file' | 'zip' };
  readonly destinations: Readonly<Record<string, { readonly bucketName: string; readonly objectKey: string }>>;
}

/** Reads the assembly of a stack; nothing else of the folder, and nothing outside it, is looked at. */
export async function readAssembly(folder: string, stackName = 'Outwait'): Promise<CloudAssembly> {
  const read = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(folder, name), 'utf8'));
  const template = (await read(`${stackName}.template.json`)) as Template;
  const { files } = (await read(`${stackName}.assets.json`)) as AssetManifest;
  const folders = new Map(
    Object.values(files).flatMap(({ source, destinations }) =>
      source.packaging !== 'zip'
        ? []
        : Object.values(destinations).map(
            ({ bucketName, objectKey }) => [`${placed(bucketName)}/${objectKey}`, join(folder, source.path)] as const,
          ),
    ),
  );
  return {
    template,
    folderOf(bucket, key) {
      const found = folders.get(`${bucket}/${key}`);
      if (found === undefined) throw new Error(`no asset is uploaded as ${key} of ${bucket}`);
      return found;
    },
  };
}

/** The manifest has placeholders, which CDK fills in when it uploads. */
function placed(text: string): string {
  return text.replaceAll('${AWS::AccountId}', account.id).replaceAll('${AWS::Region}', account.region);
}

/** The same assembly with some resources changed, or, where `change` gives nothing, without them. */
export function changed(
  assembly: CloudAssembly,
  change: (logicalId: string, resource: TemplateResource) => TemplateResource | undefined,
): CloudAssembly {
  const { template } = assembly;
  const resources = Object.entries(template.Resources).flatMap(([logicalId, resource]) => {
    const kept = change(logicalId, resource);
    return kept === undefined ? [] : [[logicalId, kept] as const];
  });
  return { ...assembly, template: { ...template, Resources: Object.fromEntries(resources) } };
}
