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

/** The part of the output folder of `cdk synth` that a deployment needs. */
export interface CloudAssembly {
  readonly template: Template;
  /** Returns the folder whose files CDK would upload as this object. @throws Error if there is none */
  folderOf(bucket: string, key: string): string;
}

interface AssetManifest {
  readonly files: Readonly<Record<string, FileAsset>>;
}

interface FileAsset {
  readonly source: { readonly path: string; readonly packaging: 'file' | 'zip' };
  readonly destinations: Readonly<Record<string, { readonly bucketName: string; readonly objectKey: string }>>;
}

/** Reads the assembly of a stack, and nothing else inside or outside the folder. */
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

/** Fills in the placeholders of the manifest, as CDK does when it uploads. */
function placed(text: string): string {
  return text.replaceAll('${AWS::AccountId}', account.id).replaceAll('${AWS::Region}', account.region);
}

/** Returns the same assembly with some resources changed, or removed if `change` returns nothing. */
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
