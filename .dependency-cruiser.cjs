// The arrows of ARCHITECTURE.md. "A may import B" is written as: A may import nothing but the listed folders.
const folder = (name) => `^lib/${name}/`;
const only = (from, allowed, extra = {}) => ({
  name: `${from}-imports`,
  severity: 'error',
  comment: `lib/${from} may import: ${[from, ...allowed].join(', ')}`,
  from: { path: folder(from), ...extra },
  to: {
    path: '^(lib|functions|cdk|test|examples|bench)/',
    pathNot: [from, ...allowed].map((name) => `^lib/${name}(/|\\.ts$)`),
  },
});

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
    only('base', []),
    only('history', ['base']),
    only('workflow', ['base', 'history']),
    only('replay', ['base', 'history', 'workflow']),
    only('decide', ['base', 'history', 'workflow']),
    only('tokens', ['base']),
    only('lint', []),
    only('store', ['base', 'history']),
    only('queue', ['base']),
    only('remote', ['base', 'history', 'workflow']),
    only('operations', [
      'base',
      'history',
      'workflow',
      'replay',
      'decide',
      'tokens/token-keys',
      'store/run-store',
      'store/records',
      'queue/queue',
      'remote/transport',
    ]),
    only('http', ['base', 'history', 'workflow', 'operations']),
    only('aws', ['base', 'history', 'workflow', 'replay', 'tokens', 'store', 'queue', 'remote', 'operations', 'http']),
    only('testing', [
      'base',
      'history',
      'workflow',
      'replay',
      'decide',
      'tokens',
      'store',
      'queue',
      'remote',
      'operations',
    ]),
    {
      name: 'cdk-imports',
      severity: 'error',
      from: { path: '^cdk/' },
      to: { path: '^(lib|functions|test|examples)/', pathNot: '^(lib/(aws/(topology|env|bundle)|base)|cdk)' },
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
