const { existsSync } = require('node:fs');

// The arrows of ARCHITECTURE.md. A folder may import its own files and what is listed: `a/b` is the files of that folder or
// that file, `a/**` those of all folders in it too.
const mayImport = {
  // Leaves and pure code.
  'lib/base': [],
  'lib/history': ['lib/base'],
  'lib/workflow': ['lib/base', 'lib/history'],
  'lib/replay/**': ['lib/base', 'lib/history', 'lib/workflow'],
  'lib/decide': ['lib/base', 'lib/history', 'lib/workflow'],
  'lib/tokens': ['lib/base'],
  'lib/inbound': ['lib/base', 'lib/workflow'],
  'lib/lint': [],
  'lib/topology': ['lib/base', 'lib/store/table'],

  // Ports and what is behind them.
  'lib/sdk': ['lib/base'],
  'lib/secrets': ['lib/base', 'lib/sdk', 'lib/workflow'],
  'lib/store': ['lib/base', 'lib/history', 'lib/store/items', 'lib/store/parts'],
  'lib/store/items': ['lib/base', 'lib/history', 'lib/store/table'],
  'lib/store/parts': [
    ...['lib/base', 'lib/history', 'lib/store/items'],
    ...['lib/store/conditions', 'lib/store/sharded-table', 'lib/store/table'],
  ],
  'lib/store/dynamodb': ['lib/base', 'lib/sdk', 'lib/store'],
  'lib/store/kms': ['lib/base', 'lib/sdk', 'lib/store'],
  'lib/store/memory': ['lib/base', 'lib/store'],
  'lib/queue': ['lib/base', 'lib/sdk'],
  'lib/bus': ['lib/base', 'lib/history', 'lib/sdk'],
  'lib/tracing': [
    ...['lib/base', 'lib/workflow', 'lib/operations/deps', 'lib/operations/in-time', 'lib/operations/spans'],
    'lib/operations/trace',
  ],
  'lib/remote': ['lib/base', 'lib/history', 'lib/workflow'],
  'lib/remote/http': ['lib/base'],
  'lib/remote/rpc': ['lib/base', 'lib/remote', 'lib/remote/http'],
  'lib/remote/auth': ['lib/base', 'lib/remote/http', 'lib/remote/rpc', 'lib/secrets', 'lib/workflow'],
  'lib/remote/push': ['lib/base', 'lib/workflow', 'lib/remote', 'lib/remote/http'],
  'lib/remote/people': ['lib/base', 'lib/workflow', 'lib/remote', 'lib/remote/auth', 'lib/remote/http'],
  'lib/remote/endpoint': [
    ...['lib/base', 'lib/history', 'lib/workflow', 'lib/secrets'],
    ...['lib/remote', 'lib/remote/auth', 'lib/remote/http', 'lib/remote/rpc'],
  ],
  'lib/remote/guard': ['lib/base', 'lib/history', 'lib/workflow', 'lib/remote', 'lib/remote/rpc'],
  'lib/remote/mcp': [
    ...['lib/base', 'lib/history', 'lib/workflow'],
    ...['lib/remote', 'lib/remote/endpoint', 'lib/remote/http', 'lib/remote/rpc'],
  ],
  'lib/remote/a2a': [
    ...['lib/base', 'lib/history', 'lib/workflow'],
    ...['lib/remote', 'lib/remote/endpoint', 'lib/remote/http', 'lib/remote/rpc'],
  ],
  'lib/remote/try': ['lib/base', 'lib/history', 'lib/workflow', 'lib/remote/**'],
  'lib/remote/wiring': ['lib/base', 'lib/workflow', 'lib/secrets', 'lib/remote/**'],

  // The use cases, by what runs them. All of them may use the root of the folder.
  'lib/operations': [
    ...['lib/base', 'lib/history', 'lib/workflow', 'lib/replay/**', 'lib/decide', 'lib/tokens/token-keys'],
    ...['lib/store/run-store', 'lib/queue/queue', 'lib/bus/event-bus', 'lib/remote/messenger', 'lib/remote/transport'],
    'lib/remote/push-sender',
  ],
  ...useCases('people', [], ['lib/remote/messenger']),
  ...useCases('remote-task', ['people']),
  ...useCases('requests', [], ['lib/inbound']),
  ...useCases('steps', ['requests']),
  ...useCases('sweep', ['remote-task', 'serve']),
  ...useCases('schedules', ['requests']),
  ...useCases('serve', ['requests'], ['lib/serve/**', 'lib/remote/push-sender']),
  ...useCases('turn', ['remote-task', 'requests', 'steps', 'serve']),
  ...useCases('views', []),

  // Served workflows: what callers see, and the doors over it. The port `lib/serve/tasks` keeps them from the use cases.
  'lib/serve/task': ['lib/base', 'lib/history'],
  'lib/serve': ['lib/base', 'lib/serve/task', 'lib/http/read-body'],
  'lib/serve/a2a': [...['lib/base', 'lib/history', 'lib/workflow', 'lib/serve', 'lib/serve/task'], 'lib/http/parse'],
  'lib/serve/mcp': [
    ...['lib/base', 'lib/history', 'lib/workflow', 'lib/serve', 'lib/serve/task'],
    'lib/remote/mcp/param-headers',
  ],

  // Doors and wiring.
  'lib/http': ['lib/base', 'lib/history', 'lib/workflow', 'lib/inbound', 'lib/topology', 'lib/operations/**'],
  'lib/process': ['lib/base', 'lib/operations/deps', 'lib/topology/env'],
  'lib/bundle': ['lib/base', 'lib/topology'],
  'lib/aws': [
    ...['lib/base', 'lib/history', 'lib/workflow', 'lib/tokens', 'lib/topology', 'lib/process', 'lib/bundle'],
    ...['lib/secrets', 'lib/store/**', 'lib/queue', 'lib/bus', 'lib/remote/**', 'lib/operations/**', 'lib/http'],
    'lib/tracing',
    'lib/serve/**',
  ],
  'lib/local': [
    ...['lib/base', 'lib/workflow', 'lib/tokens', 'lib/topology', 'lib/process', 'lib/store/**', 'lib/queue'],
    ...['lib/bus', 'lib/secrets', 'lib/remote/**', 'lib/operations/**', 'lib/http', 'lib/aws', 'lib/tracing'],
  ],
  'lib/testing': [
    ...['lib/base', 'lib/history', 'lib/workflow', 'lib/process', 'lib/tokens', 'lib/store/**', 'lib/queue', 'lib/bus'],
    ...['lib/remote/**', 'lib/operations/**', 'lib/tracing'],
  ],
  'lib/cli/**': [
    ...['lib/base', 'lib/history', 'lib/workflow', 'lib/lint', 'lib/topology', 'lib/process', 'lib/sdk', 'lib/queue'],
    ...['lib/bus', 'lib/remote/**', 'lib/operations/**', 'lib/http', 'lib/aws', 'lib/local', 'lib/testing'],
  ],
  functions: ['lib/aws', 'lib/process', 'lib/topology'],
  cdk: ['lib/base', 'lib/topology', 'lib/bundle', 'lib/aws/load-app', 'lib/aws/app-secrets', 'lib/workflow/app'],

  // Those who use the package, or measure it.
  'examples/**': ['lib/index', 'lib/testing', 'lib/local/process-identity'],
  'scripts/**': [],
  'bench/**': ['lib/**', 'examples/**', 'test/simulation/random'],
};

function useCases(name, others, ports = []) {
  const shared = [
    ...['lib/base', 'lib/history', 'lib/workflow', 'lib/replay/**', 'lib/decide', 'lib/operations'],
    ...['lib/store/run-store', 'lib/queue/queue', 'lib/remote/transport'],
  ];
  return { [`lib/operations/${name}`]: [...shared, ...ports, ...others.map((other) => `lib/operations/${other}`)] };
}

const folderPattern = (place) => (place.endsWith('/**') ? `^${place.slice(0, -2)}` : `^${place}/[^/]+\\.ts$`);
const pattern = (place) => (existsSync(`${place}.ts`) ? `^${place}\\.ts$` : folderPattern(place));

const arrows = Object.entries(mayImport).map(([place, allowed]) => ({
  name: `${place.replace('/**', '').replaceAll('/', '-')}-imports`,
  severity: 'error',
  comment: `${place} may import: ${[place, ...allowed].join(', ')}`,
  from: { path: folderPattern(place) },
  to: {
    path: '^(lib|functions|cdk|test|examples|bench|scripts)/',
    pathNot: [folderPattern(place), ...allowed.map(pattern)],
  },
}));

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^(outwait:app|aws-lambda)$' },
    },
    ...arrows,
    {
      name: 'folder-without-arrows',
      severity: 'error',
      comment: 'a folder needs a row in mayImport, and in the table of ARCHITECTURE.md',
      from: {
        path: '^(lib|functions|cdk|examples|scripts|bench)/',
        pathNot: ['^lib/[^/]+\\.ts$', ...Object.keys(mayImport).map(folderPattern)],
      },
      to: {},
    },
    {
      name: 'nothing-imports-entries',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: '^(functions|cdk|test|examples|bench)/' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types'],
    },
  },
};
