// Writes the exports of the package to etc/*.api.md; with --check reports differences from these files. Reads the
// declarations in dist, so `npm run build` comes first. A type that a public signature names and no entry exports is an
// error.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';

const byOutwait = new Set(
  [...readFileSync('lib/index.ts', 'utf8').matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  ),
);
const check = process.argv.includes('--check');
const entries = { outwait: 'lib/index', 'outwait-testing': 'lib/testing', 'outwait-cdk': 'cdk/index' };
const quiet = { logLevel: ExtractorLogLevel.None };

const results = Object.entries(entries).map(([name, entry]) => {
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: resolve('package.json'),
    configObject: {
      projectFolder: resolve('.'),
      mainEntryPointFilePath: resolve(`dist/${entry}.d.ts`),
      compiler: { tsconfigFilePath: resolve('scripts/api-report.tsconfig.json') },
      apiReport: {
        enabled: true,
        reportFileName: name,
        reportFolder: resolve('etc'),
        reportTempFolder: resolve('node_modules/.cache/api-report'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: {
          default: quiet,
          'ae-forgotten-export': { logLevel: ExtractorLogLevel.Error },
        },
        tsdocMessageReporting: { default: quiet },
      },
    },
  });
  return Extractor.invoke(config, {
    localBuild: !check,
    showVerboseMessages: false,
    messageCallback: (message) => {
      // The other entries need not export again what `outwait` exports.
      const [, symbol = ''] = /^The symbol "(\w+)" needs to be exported/.exec(message.text) ?? [];
      if (name !== 'outwait' && byOutwait.has(symbol)) message.logLevel = ExtractorLogLevel.None;
    },
  });
});

if (!results.every(({ succeeded }) => succeeded)) {
  if (results.some(({ apiReportChanged }) => apiReportChanged))
    process.stderr.write('etc/*.api.md is out of date: check what has changed, then run `npm run api`\n');
  process.exitCode = 1;
}
