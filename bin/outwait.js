#!/usr/bin/env node
// Checks the version before any import that an old Node cannot even parse.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`outwait needs Node 20.19 or newer, this is ${process.versions.node}`);
  process.exit(1);
}

const { existsSync } = await import('node:fs');
// The SDK's notice about Node 20 is meant for deployments; the functions run on a newer version.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

let cli;
if (existsSync(new URL('../lib/cli.ts', import.meta.url))) {
  // A clone runs from its source, whatever an earlier build has left; the package contains no source.
  const { register } = await import('tsx/esm/api');
  register();
  cli = await import('../lib/cli.ts');
} else {
  cli = await import('../dist/lib/cli.js');
}
await cli.runProcess(process.argv);
